#include "layout/network.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::layout {
namespace {

TEST(Network, ReadsAddressesAndRefusesEverythingElse) {
  EXPECT_EQ(parse_ip("198.18.0.11"), (Ip{.family = Family::kIpv4, .bytes = {198, 18, 0, 11}}));
  EXPECT_EQ(
      parse_ip("fd00::b"),
      (Ip{.family = Family::kIpv6, .bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11}}));
  for (const char* text : {"255.1.0.9", "::", "::1", "fd00:198:18::1:1", "2001:db8:1:2:3:4:5:6"}) {
    EXPECT_EQ(to_text(*parse_ip(text)), text);
  }
  EXPECT_EQ(to_text(*parse_ip("FD00:0:0::0001")), "fd00::1");
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "1.2.3.4 ", "1..3.4",
                           "1.2.3.", "a.b.c.d", "fd00::1%eth0", "[fd00::1]", "fd00:::1",
                           "1:2:3:4:5:6:7", "fd00::12345", "fd00::1/64", ":"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_FALSE(parse_ip(std::string_view("::1\0x", 5)));
}

TEST(Network, SortsIpv4BeforeIpv6) {
  EXPECT_LT(*parse_ip("255.0.0.1"), *parse_ip("::1"));
  EXPECT_LT(*parse_ip("10.0.0.9"), *parse_ip("10.0.0.10"));
  EXPECT_LT(*parse_ip("fd00::2"), *parse_ip("fd00::1:1"));
  EXPECT_TRUE(is_ipv6("fd00::/64"));
  EXPECT_TRUE(is_ipv6("fd00::1"));
  EXPECT_FALSE(is_ipv6("198.18.0.0/16"));
  EXPECT_FALSE(is_ipv6("n1"));
  EXPECT_FALSE(is_ipv6(""));
}

TEST(Network, IsWhatThePrefixLeaves) {
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 16})), "198.18.0.0/16");
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 32})), "198.18.7.11/32");
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 0})), "0.0.0.0/0");
  EXPECT_FALSE(network_of({"198.18.7.11", 33}));
  EXPECT_FALSE(network_of({"198.18.7.11", -1}));
  EXPECT_EQ(to_text(*network_of({"fd00:1:2:3:4::1", 64})), "fd00:1:2:3::/64");
  EXPECT_EQ(to_text(*network_of({"2001:db8:ffff::1", 35})), "2001:db8:e000::/35");
  EXPECT_EQ(to_text(*network_of({"fd00::1", 128})), "fd00::1/128");
  EXPECT_FALSE(network_of({"fd00::1", 129}));
  EXPECT_FALSE(contains(*parse_network("0.0.0.0/0"), *parse_ip("fd00::1")));
  EXPECT_FALSE(contains(*parse_network("::/0"), *parse_ip("198.18.0.1")));
  EXPECT_TRUE(contains(*parse_network("fd00::/64"), *parse_ip("fd00::1:1")));
  EXPECT_FALSE(contains(*parse_network("fd00::/64"), *parse_ip("fd00:0:0:1::1")));
  EXPECT_EQ(parse_network("10.1.2.3/8"), network_of({"10.0.0.0", 8}));
  EXPECT_FALSE(parse_network("10.1.2.3"));
  EXPECT_FALSE(parse_network("10.1.2.3/x"));
}

TEST(Network, CoversAddresses) {
  const auto covered = [](std::vector<std::string> texts) {
    std::vector<Ip> addresses;
    for (const std::string& text : texts) addresses.push_back(*parse_ip(text));
    return to_text(cover(addresses));
  };
  EXPECT_EQ(covered({"10.128.0.2"}), "10.128.0.2/32");
  EXPECT_EQ(covered({"10.128.0.2", "10.128.0.3"}), "10.128.0.2/31");
  EXPECT_EQ(covered({"172.31.5.1", "172.31.40.1"}), "172.31.0.0/18");
  EXPECT_EQ(covered({"10.0.0.1", "192.168.0.1"}), "0.0.0.0/0");
  EXPECT_EQ(covered({"fd00::1"}), "fd00::1/128");
  EXPECT_EQ(covered({"fd00::1", "fd00::1:0"}), "fd00::/111");
  EXPECT_EQ(covered({"2600:1f18:1:2::1", "2600:1f18:1:3::1"}), "2600:1f18:1:2::/63");
}

TEST(Network, KnowsWhichAddressesAHostCanHave) {
  const Network wide = *parse_network("198.18.0.0/16");
  EXPECT_TRUE(can_be_a_hosts(wide, *parse_ip("198.18.0.1")));
  EXPECT_FALSE(can_be_a_hosts(wide, *parse_ip("198.18.0.0")));
  EXPECT_FALSE(can_be_a_hosts(wide, *parse_ip("198.18.255.255")));
  EXPECT_TRUE(can_be_a_hosts(*parse_network("10.0.0.7/32"), *parse_ip("10.0.0.7")));
  EXPECT_TRUE(can_be_a_hosts(*parse_network("10.0.0.0/31"), *parse_ip("10.0.0.0")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("224.0.0.0/16"), *parse_ip("224.0.0.1")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("0.0.0.0/16"), *parse_ip("0.0.0.0")));
  const Network ipv6 = *parse_network("fd00::/64");
  EXPECT_TRUE(can_be_a_hosts(ipv6, *parse_ip("fd00::1")));
  // IPv6 has no broadcast address.
  EXPECT_TRUE(can_be_a_hosts(ipv6, *parse_ip("fd00::ffff:ffff:ffff:ffff")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("ff02::/16"), *parse_ip("ff02::1")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("::/64"), *parse_ip("::")));
}

TEST(Network, KnowsPrivateRanges) {
  for (const char* text : {"10.9.9.9", "172.31.0.1", "192.168.5.5", "100.127.0.1", "198.19.1.1"}) {
    EXPECT_TRUE(is_private(*parse_ip(text))) << text;
  }
  for (const char* text : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "198.20.0.1"}) {
    EXPECT_FALSE(is_private(*parse_ip(text))) << text;
  }
  EXPECT_TRUE(is_private(*parse_ip("fd12::1")));
  EXPECT_FALSE(is_private(*parse_ip("2001:db8::1")));
  EXPECT_TRUE(is_link_local(*parse_ip("169.254.7.7")));
  EXPECT_TRUE(is_link_local(*parse_ip("fe80::1")));
  EXPECT_FALSE(is_link_local(*parse_ip("fd00::1")));
  EXPECT_TRUE(is_loopback(*parse_ip("127.0.1.1")));
  EXPECT_TRUE(is_loopback(*parse_ip("::1")));
  EXPECT_FALSE(is_loopback(*parse_ip("::2")));
}

}  // namespace
}  // namespace muster::layout
