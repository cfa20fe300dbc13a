#include "lab/packet.hpp"

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

// A frame from 198.18.0.1 port 4660 to 198.18.1.2 port 29500, without options or data.
std::string frame(char flags) {
  std::string bytes(12, '\x02');
  bytes += std::string("\x08\x00", 2);
  bytes += std::string("\x45\x00\x00\x28\x00\x00\x40\x00\x40\x06\x00\x00", 12);
  bytes += std::string("\xc6\x12\x00\x01\xc6\x12\x01\x02", 8);
  bytes += std::string("\x12\x34\x73\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x50", 13);
  bytes += flags;
  return bytes + std::string(6, '\0');
}

TEST(Packet, TellsWhoseItIsAndHowLarge) {
  const auto packet = parse_packet(frame('\x10'));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->from, 0xc6120001);
  EXPECT_EQ(packet->to, 0xc6120102);
  EXPECT_EQ(packet->bytes, 40);
  EXPECT_FALSE(packet->opens_port);
}

TEST(Packet, TellsANewConnectionFromAnAnswer) {
  EXPECT_EQ(parse_packet(frame('\x02'))->opens_port, 29500);
  EXPECT_FALSE(parse_packet(frame('\x12'))->opens_port);
}

// A frame from fd00::1 port 4660 to fd00::2 port 29500, without data.
std::string ipv6_frame(char flags) {
  std::string bytes(12, '\x02');
  bytes += std::string("\x86\xdd\x60\x00\x00\x00\x00\x14\x06\x40", 10);
  for (const char last : {'\x01', '\x02'}) bytes += "\xfd" + std::string(14, '\0') + last;
  return bytes + frame(flags).substr(34);
}

TEST(Packet, MayCarryIpv6) {
  const auto packet = parse_packet(ipv6_frame('\x02'));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, 60);
  EXPECT_EQ(packet->opens_port, 29500);
  EXPECT_FALSE(parse_packet(ipv6_frame('\x12'))->opens_port);
  EXPECT_FALSE(parse_packet(ipv6_frame('\x02').substr(0, 60))->opens_port);
  EXPECT_FALSE(parse_packet(ipv6_frame('\x02').substr(0, 53)));
}

TEST(Packet, IsNothingWhereTheFrameIsAnotherOrTooShort) {
  std::string arp = frame('\x02');
  arp[13] = '\x06';
  EXPECT_FALSE(parse_packet(arp));
  EXPECT_FALSE(parse_packet(frame('\x02').substr(0, 33)));
  EXPECT_FALSE(parse_packet(""));
  const auto cut = parse_packet(frame('\x02').substr(0, 40));
  ASSERT_TRUE(cut);
  EXPECT_FALSE(cut->opens_port);
}

}  // namespace
}  // namespace muster::lab
