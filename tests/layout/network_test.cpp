#include "layout/network.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::layout {
namespace {

TEST(Network, ReadsAddressesAndRefusesEverythingElse) {
  EXPECT_EQ(parse_ipv4("198.18.0.11"), (198U << 24U) + (18U << 16U) + 11U);
  EXPECT_EQ(ipv4_text(*parse_ipv4("255.1.0.9")), "255.1.0.9");
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "1.2.3.4 ", "1..3.4",
                           "fd00::1", "1.2.3.", "a.b.c.d"}) {
    EXPECT_FALSE(parse_ipv4(text)) << text;
  }
}

TEST(Network, IsWhatThePrefixLeaves) {
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 16})), "198.18.0.0/16");
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 32})), "198.18.7.11/32");
  EXPECT_EQ(to_text(*network_of({"198.18.7.11", 0})), "0.0.0.0/0");
  EXPECT_FALSE(network_of({"198.18.7.11", 33}));
  EXPECT_FALSE(network_of({"198.18.7.11", -1}));
  EXPECT_FALSE(network_of({"fd00::1", 64}));
  EXPECT_EQ(parse_network("10.1.2.3/8"), network_of({"10.0.0.0", 8}));
  EXPECT_FALSE(parse_network("10.1.2.3"));
  EXPECT_FALSE(parse_network("10.1.2.3/x"));
}

TEST(Network, CoversAddresses) {
  const auto covered = [](std::vector<std::string> texts) {
    std::vector<std::uint32_t> addresses;
    for (const std::string& text : texts) addresses.push_back(*parse_ipv4(text));
    return to_text(cover(addresses));
  };
  EXPECT_EQ(covered({"10.128.0.2"}), "10.128.0.2/32");
  EXPECT_EQ(covered({"10.128.0.2", "10.128.0.3"}), "10.128.0.2/31");
  EXPECT_EQ(covered({"172.31.5.1", "172.31.40.1"}), "172.31.0.0/18");
  EXPECT_EQ(covered({"10.0.0.1", "192.168.0.1"}), "0.0.0.0/0");
}

TEST(Network, KnowsWhichAddressesAHostCanHave) {
  const Network wide = *parse_network("198.18.0.0/16");
  EXPECT_TRUE(can_be_a_hosts(wide, *parse_ipv4("198.18.0.1")));
  EXPECT_FALSE(can_be_a_hosts(wide, *parse_ipv4("198.18.0.0")));
  EXPECT_FALSE(can_be_a_hosts(wide, *parse_ipv4("198.18.255.255")));
  EXPECT_TRUE(can_be_a_hosts(*parse_network("10.0.0.7/32"), *parse_ipv4("10.0.0.7")));
  EXPECT_TRUE(can_be_a_hosts(*parse_network("10.0.0.0/31"), *parse_ipv4("10.0.0.0")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("224.0.0.0/16"), *parse_ipv4("224.0.0.1")));
  EXPECT_FALSE(can_be_a_hosts(*parse_network("0.0.0.0/16"), *parse_ipv4("0.0.0.0")));
}

TEST(Network, KnowsPrivateRanges) {
  for (const char* text : {"10.9.9.9", "172.31.0.1", "192.168.5.5", "100.127.0.1", "198.19.1.1"}) {
    EXPECT_TRUE(is_private(*parse_ipv4(text))) << text;
  }
  for (const char* text : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "198.20.0.1"}) {
    EXPECT_FALSE(is_private(*parse_ipv4(text))) << text;
  }
  EXPECT_TRUE(is_link_local(*parse_ipv4("169.254.7.7")));
  EXPECT_TRUE(is_loopback(*parse_ipv4("127.0.1.1")));
}

}  // namespace
}  // namespace muster::layout
