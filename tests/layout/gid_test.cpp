#include "layout/gid.hpp"

#include <gtest/gtest.h>

namespace muster::layout {
namespace {

Ip ip(std::string_view gid) {
  return ip_of_gid(gid).value();
}

TEST(Gid, IsAnAddress) {
  EXPECT_EQ(to_text(ip("0000:0000:0000:0000:0000:ffff:c612:000b")), "198.18.0.11");
  EXPECT_EQ(to_text(ip("fd00:0000:0000:0001:0000:0000:0000:0002")), "fd00:0:0:1::2");
  for (const char* bad :
       {"", "x", "198.18.0.1", "fe80:::1", "0000:0000:0000:0000:0000:ffff:c612"}) {
    EXPECT_FALSE(ip_of_gid(bad)) << bad;
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

}  // namespace
}  // namespace muster::layout
