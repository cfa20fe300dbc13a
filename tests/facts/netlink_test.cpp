#include "facts/netlink.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace muster::facts {
namespace {

using std::string_literals::operator""s;

TEST(Attributes, are_padded_to_four_bytes) {
  const std::string bytes = "\x05\0\x03\0x\0\0\0\x08\0\x04\0\x01\0\0\0"s;
  const auto attributes = parse_attributes(bytes);
  EXPECT_EQ(attributes.size(), 2U);
  EXPECT_EQ(bytes_of(attributes, 3), "x");
  EXPECT_EQ(value_of<int>(bytes_of(attributes, 4)), 1);
  EXPECT_EQ(bytes_of(attributes, 9), "");
}

TEST(Attributes, of_impossible_length_end_the_list) {
  EXPECT_TRUE(parse_attributes("\x03\0\x01\0"s).empty());    // shorter than its own head
  EXPECT_TRUE(parse_attributes("\xff\0\x01\0xx"s).empty());  // longer than what is there
  EXPECT_TRUE(parse_attributes("\x04\0"s).empty());
}

TEST(IpText, wants_the_family_s_length) {
  EXPECT_EQ(ip_text(AF_INET, "\x7f\0\0\x01"s), "127.0.0.1");
  EXPECT_EQ(ip_text(AF_INET6, std::string(15, '\0') + '\x01'), "::1");
  EXPECT_EQ(ip_text(AF_INET, "\x7f"s), "");
  EXPECT_EQ(ip_text(AF_UNIX, "\x7f\0\0\x01"s), "");
}

}  // namespace
}  // namespace muster::facts
