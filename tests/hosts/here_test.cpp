#include "hosts/here.hpp"

#include <gtest/gtest.h>

namespace muster::hosts {
namespace {

const Here n1 = {.name = "n1", .addresses = {"127.0.0.1", "::1", "198.18.0.11", "fd00::11"}};
const Here full = {.name = "n1.example.org"};

TEST(IsHere, KnowsLoopbackByNameAndAddress) {
  for (const char* host : {"localhost", "LocalHost", "127.0.0.1", "127.0.1.1", "::1", "0:0::1"}) {
    EXPECT_TRUE(is_here(host, n1)) << host;
  }
}

TEST(IsHere, KnowsItsOwnNameAndAddresses) {
  for (const char* host : {"n1", "N1", "198.18.0.11", "fd00::11", "FD00:0::11"}) {
    EXPECT_TRUE(is_here(host, n1)) << host;
  }
  EXPECT_TRUE(is_here("n1", full));
  EXPECT_TRUE(is_here("n1.example.org", full));
}

TEST(IsHere, TakesNoOtherHostForThisMachine) {
  for (const char* host : {"n2", "n11", "n1.example.org", "198.18.0.1", "198.18.0.111", "fd00::12",
                           "128.0.0.1", "localhost2", "127"}) {
    EXPECT_FALSE(is_here(host, n1)) << host;
  }
  EXPECT_FALSE(is_here("n1.example.com", full));
  EXPECT_FALSE(is_here("n1", {}));
}

TEST(MayBeHere, AsksForTheAddressOfAFullNameThatBeginsLikeItsOwn) {
  EXPECT_TRUE(may_be_here("n1.example.org", n1));
  EXPECT_TRUE(may_be_here("n1.example.com", full));
  for (const char* host : {"n1", "n2.example.org", "n11.example.org", "198.18.0.1"}) {
    EXPECT_FALSE(may_be_here(host, n1)) << host;
  }
  EXPECT_FALSE(may_be_here(".example.org", {}));
}

}  // namespace
}  // namespace muster::hosts
