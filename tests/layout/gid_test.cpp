#include "layout/gid.hpp"

#include <gtest/gtest.h>

namespace muster::layout {
namespace {

IpBytes ip(std::string_view text) {
  return ip_bytes(text).value();
}

TEST(Gid, IsAnAddress) {
  EXPECT_EQ(ip_text(ip("0000:0000:0000:0000:0000:ffff:c612:000b")), "198.18.0.11");
  EXPECT_EQ(ip("0000:0000:0000:0000:0000:ffff:c612:000b"), ip("198.18.0.11"));
  EXPECT_EQ(ip_text(ip("fd00:0000:0000:0001:0000:0000:0000:0002")), "fd00:0:0:1::2");
  for (const char* bad : {"", "x", "198.18.0", "fe80:::1", "0000:0000:0000:0000:0000:ffff:c612"}) {
    EXPECT_FALSE(ip_bytes(bad)) << bad;
  }
}

TEST(Gid, IsUsableByTypeAndAddress) {
  const auto usable = [](const char* gid, const char* type) {
    return is_roce_v2_address({.index = 3, .gid = gid, .type = type, .interface = ""}, ip(gid));
  };
  EXPECT_TRUE(usable("0000:0000:0000:0000:0000:ffff:c612:000b", "RoCE v2"));
  EXPECT_FALSE(usable("0000:0000:0000:0000:0000:ffff:c612:000b", "IB/RoCE v1"));
  EXPECT_TRUE(usable("0000:0000:0000:0000:0000:ffff:a9fe:0102", "RoCE v2"));   // 169.254.1.2
  EXPECT_FALSE(usable("0000:0000:0000:0000:0000:ffff:7f00:0001", "RoCE v2"));  // loopback
  EXPECT_FALSE(usable("fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2"));
  EXPECT_TRUE(usable("fd00:0000:0000:0000:0000:0000:0000:0001", "RoCE v2"));
  EXPECT_TRUE(usable("2001:0db8:0000:0000:0000:0000:0000:0001", "RoCE v2"));
  EXPECT_FALSE(usable("ff02:0000:0000:0000:0000:0000:0000:0001", "RoCE v2"));
}

TEST(IpRange, IsTheNetworkOfAnAddress) {
  EXPECT_EQ(to_text(range_of(ip("10.1.2.3"), 24)), "10.1.2.0/24");
  EXPECT_EQ(to_text(range_of(ip("10.1.2.3"), 32)), "10.1.2.3/32");
  EXPECT_EQ(to_text(range_of(ip("fd00::1:2"), 64)), "fd00::/64");
  EXPECT_EQ(to_text(range_of(ip("10.1.2.3"), 99)), "10.1.2.3/32");  // hostile
  EXPECT_TRUE(range_of(ip("10.1.2.3"), 24).contains(ip("10.1.2.250")));
  EXPECT_FALSE(range_of(ip("10.1.2.3"), 24).contains(ip("10.1.3.3")));
}

TEST(IpRange, CoversAllAddresses) {
  const std::vector<IpBytes> two = {ip("10.1.0.5"), ip("10.2.0.5")};
  EXPECT_EQ(to_text(smallest_range(two)), "10.0.0.0/14");
  const std::vector<IpBytes> one = {ip("fd00::5")};
  EXPECT_EQ(to_text(smallest_range(one)), "fd00::5/128");
}

}  // namespace
}  // namespace muster::layout
