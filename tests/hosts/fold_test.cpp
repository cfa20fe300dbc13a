#include "hosts/fold.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "hosts/expression.hpp"

namespace muster::hosts {
namespace {

using Names = std::vector<std::string>;

std::string refold(std::string_view text) {
  return fold(parse_expression(text).value());
}

TEST(Fold, JoinsNumbersInNaturalOrder) {
  EXPECT_EQ(fold(Names{"node10", "node9", "launcher", "node2", "node1"}),
            "launcher,node[1-2,9-10]");
  EXPECT_EQ(fold(Names{"node02", "node01", "node10", "node03"}), "node[01-03,10]");
  EXPECT_EQ(fold(Names{"n099", "n100", "n101"}), "n[099-101]");
  EXPECT_EQ(fold(Names{"n1"}), "n1");
  EXPECT_EQ(fold(Names{}), "");
}

TEST(Fold, KeepsDifferentPaddingsApart) {
  EXPECT_EQ(fold(Names{"n1", "n01", "n2", "n02", "n001"}), "n[1-2,01-02,001]");
  EXPECT_EQ(fold(Names{"n99", "n098", "n100"}), "n[99,098,100]");
}

TEST(Fold, TellsSlots) {
  EXPECT_EQ(refold("launcher,node[01-16]:4"), "launcher,node[01-16]:4");
  EXPECT_EQ(refold("n[1-2]:4,n3:2,n4:4,n5"), "n[1-2,4]:4,n3:2,n5");
}

TEST(Fold, FoldsSeveralNumbersIntoProducts) {
  EXPECT_EQ(refold("r[1-2]n[01-04]"), "r[1-2]n[01-04]");
  EXPECT_EQ(refold("r1n1,r1n2,r2n1"), "r1n[1-2],r2n1");
  EXPECT_EQ(refold("10.0.[0-3].[1-254]"), "10.0.[0-3].[1-254]");
  EXPECT_EQ(refold("n[1-2]-ib[0-1],n3-ib0"), "n[1-2]-ib[0-1],n3-ib0");
}

TEST(Fold, JoinsTheLastFourOfTheNumbersThatDiffer) {
  EXPECT_EQ(refold("a[1-2]b7c[1-2]d[1-2]e[1-2]f9"), "a[1-2]b7c[1-2]d[1-2]e[1-2]f9");
  EXPECT_EQ(refold("a[1-2]b[1-2]c[1-2]d[1-2]e[1-2]f9"),
            "a1b[1-2]c[1-2]d[1-2]e[1-2]f9,a2b[1-2]c[1-2]d[1-2]e[1-2]f9");
}

TEST(Fold, LeavesAddressesAndEndlessNumbersWhole) {
  EXPECT_EQ(refold("fe80::2,fe80::1,[::1]:4"), "[::1]:4,fe80::1,fe80::2");
  EXPECT_EQ(refold("n1234567890123456789,n1234567890123456790"),
            "n1234567890123456789,n1234567890123456790");
}

TEST(Fold, SurvivesNamesThatAreNone) {
  EXPECT_EQ(fold(Names{"n%", "n1", "a b", "n2"}), "a b,n%,n[1-2]");
}

TEST(Fold, WritesWhatIsReadBackAsTheSame) {
  for (const std::string_view text :
       {"a,b:2,c", "n[1-3,5,08-10]:2,n[4-5]", "[1-3],1[4-5]", "r[1-9]n[1-9]:3,r5n10,r05n1",
        "[2001:db8::1]:4,2001:db8::2,fe80::1%eth0", "n999999999999999998,n999999999999999999"}) {
    auto hosts = parse_expression(text).value();
    auto again = parse_expression(fold(hosts)).value();
    const auto by_name = [](const Host& a, const Host& b) { return a.name < b.name; };
    std::sort(hosts.begin(), hosts.end(), by_name);
    std::sort(again.begin(), again.end(), by_name);
    EXPECT_EQ(hosts, again) << text;
  }
}

}  // namespace
}  // namespace muster::hosts
