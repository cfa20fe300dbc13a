#include "hosts/expression.hpp"

#include <gtest/gtest.h>

#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

using Hosts = std::vector<Host>;

// Formats the hosts. "a b:2" is a (slots not given) and b (2 slots).
std::string read(std::string_view text) {
  const auto hosts = parse_expression({.text = text, .name = "-H"});
  if (!hosts) return to_text(hosts.error());
  std::string line;
  for (const Host& host : *hosts) {
    line += (line.empty() ? "" : " ") + host.name;
    if (host.slots > 0) line += ":" + std::to_string(host.slots);
  }
  return line;
}

TEST(Expression, ExpandsRangesAndKeepsTheirPadding) {
  EXPECT_EQ(read("node[08-11]:4"), "node08:4 node09:4 node10:4 node11:4");
  EXPECT_EQ(read("n[1-3,5,08-10]"), "n1 n2 n3 n5 n08 n09 n10");
  EXPECT_EQ(read("n[0-8/2]"), "n0 n2 n4 n6 n8");
  EXPECT_EQ(read("n[98-101]"), "n98 n99 n100 n101");
  EXPECT_EQ(read("n[098-101/3]"), "n098 n101");
  EXPECT_EQ(read("n[99-100]"), "n99 n100");
  EXPECT_EQ(read("n[07]"), "n07");
}

TEST(Expression, PaddingOfTheFirstNumberHoldsWhereTheLastIsLonger) {
  EXPECT_EQ(read("n[09-100/91]"), "n09 n100");
}

TEST(Expression, TakesSeveralBracketsTheLastRunningFastest) {
  EXPECT_EQ(read("r[1-2]n[01-02]-ib"), "r1n01-ib r1n02-ib r2n01-ib r2n02-ib");
  EXPECT_EQ(read("n[1-2][3-4]"), "n13 n14 n23 n24");
  EXPECT_EQ(read("[1-2]rack"), "1rack 2rack");
  EXPECT_EQ(read("n3[1-2]5"), "n315 n325");
}

TEST(Expression, SeparatesByCommasBlanksAndLineEnds) {
  EXPECT_EQ(read("a,b:2 c\td\r\ne , f\n"), "a b:2 c d e f");
}

TEST(Expression, AHostNamedAgainAddsItsSlots) {
  EXPECT_EQ(read("a,b,a"), "a:2 b");
  EXPECT_EQ(read("a,a,a"), "a:3");
  EXPECT_EQ(read("a:4,b,a:2"), "a:6 b");
  EXPECT_EQ(read("a:4,a"), "a:5");
  EXPECT_EQ(read("a,a:4"), "a:5");
  EXPECT_EQ(read("n[1-3],n2"), "n1 n2:2 n3");
}

TEST(Expression, KnowsAddresses) {
  EXPECT_EQ(read("104.171.200.62:2,104.171.200.182:2"), "104.171.200.62:2 104.171.200.182:2");
  EXPECT_EQ(read("10.0.0.[1-2]"), "10.0.0.1 10.0.0.2");
  EXPECT_EQ(read("[2001:db8::1]:4,[::1],fe80::1,fe80::2%eth0"),
            "2001:db8::1:4 ::1 fe80::1 fe80::2%eth0");
  EXPECT_EQ(parse_expression("[2001:db8::1]:4").value(), (Hosts{{"2001:db8::1", 4}}));
  EXPECT_EQ(parse_expression("fe80::1:4").value(), (Hosts{{"fe80::1:4", 0}}));
}

TEST(Expression, ReadsWhatTheGuidesWrite) {
  EXPECT_EQ(read("localhost,worker"), "localhost worker");
  EXPECT_EQ(read("10.0.0.1,10.0.0.2"), "10.0.0.1 10.0.0.2");
  EXPECT_EQ(read("launcher,worker1,worker2"), "launcher worker1 worker2");
  EXPECT_EQ(read("gpu_node-1.example.com"), "gpu_node-1.example.com");
}

TEST(Expression, RefusesAUserWithAHint) {
  EXPECT_EQ(read("n1,dev@n2"),
            "-H:1:7: a host list cannot contain user names\n"
            "  hint: pass --user, or set the user of one host in ~/.ssh/config");
}

TEST(Expression, RefusesSetOperatorsAndGroupsWithAHint) {
  EXPECT_EQ(read("n[1-4]!n2"),
            "-H:1:7: '!' is not supported in a host list\n  hint: leave hosts out with --exclude");
  EXPECT_EQ(read("n1&n2"),
            "-H:1:3: '&' is not supported in a host list\n  hint: choose hosts with --include");
  EXPECT_EQ(read("n1^n2"),
            "-H:1:3: '^' is not supported in a host list\n  hint: use --include and --exclude");
  EXPECT_EQ(read("n1,@gpu"),
            "-H:1:4: muster does not support host groups\n  hint: name the hosts themselves");
}

TEST(Expression, RefusesNamesThatWouldBeOptionsOrFolders) {
  EXPECT_EQ(read("a,-oProxyCommand=x"), "-H:1:3: a host name cannot start with '-'");
  EXPECT_EQ(read(".."), "-H:1:1: a host name cannot start with '.'");
}

TEST(Expression, RefusesOtherBytesByName) {
  const std::string hint = "\n  hint: host names consist of letters, digits, '.', '_' and '-'";
  EXPECT_EQ(read("a;b"), "-H:1:2: ';' cannot be in a host name" + hint);
  EXPECT_EQ(read("a/b"), "-H:1:2: '/' cannot be in a host name" + hint);
  EXPECT_EQ(read(std::string_view("a\0b", 3)), "-H:1:2: byte 0x00 cannot be in a host name" + hint);
  EXPECT_EQ(read("caf\xc3\xa9"), "-H:1:4: byte 0xc3 cannot be in a host name" + hint);
}

TEST(Expression, NamesTheLineAndColumnOfAFault) {
  EXPECT_EQ(read("a,\n  b[1-x]"),
            "-H:2:7: expected a number, found 'x'\n"
            "  hint: ranges look like [01-16], [1,3,5] or [0-8/2]");
  EXPECT_EQ(read("a,,b"), "-H:1:3: no host name before ','");
  EXPECT_EQ(read("a,b,\n"), "-H:1:4: no host name after ','");
  EXPECT_EQ(read(",a"), "-H:1:1: no host name before ','");
  EXPECT_EQ(read("a,:4"), "-H:1:3: no host name before ':'");
}

TEST(Expression, CountsFromWhereTheTextStands) {
  const auto hosts =
      parse_expression({.text = "a,b c]", .name = "x.yaml", .line = 7, .column = 10});
  EXPECT_EQ(refusal(hosts), "x.yaml:7:15: ']' without a '[' before it");
}

TEST(Expression, RefusesBrokenBracketsAndRanges) {
  EXPECT_EQ(read("n[1-3"),
            "-H:1:2: '[' is never closed\n  hint: there must be no space inside brackets");
  EXPECT_EQ(read("n[1, 3]"),
            "-H:1:2: '[' is never closed\n  hint: there must be no space inside brackets");
  EXPECT_EQ(read("n1]"), "-H:1:3: ']' without a '[' before it");
  EXPECT_EQ(read("n[[1-2]]"), "-H:1:3: '[' inside brackets");
  EXPECT_EQ(read("n[]"), "-H:1:3: a number is missing here");
  EXPECT_EQ(read("n[1,,2]"), "-H:1:5: a number is missing here");
  EXPECT_EQ(read("n[1-]"), "-H:1:5: a number is missing here");
  EXPECT_EQ(read("n[5-1]"), "-H:1:3: the range 5-1 runs backwards");
  EXPECT_EQ(read("n[1-9/0]"), "-H:1:7: a step of 0");
  EXPECT_EQ(read("n[1/2]"), "-H:1:4: a step without a range\n  hint: write it as in [0-8/2]");
  EXPECT_EQ(read("n[1-016]"),
            "-H:1:3: 1 and 016 are padded differently\n"
            "  hint: write both ends with the same number of digits, as in [001-016]");
}

TEST(Expression, RefusesSlotsThatAreNone) {
  const std::string hint = "\n  hint: write a number from 1 to 1000000";
  EXPECT_EQ(read("a:0"), "-H:1:3: '0' is not a slot count" + hint);
  EXPECT_EQ(read("a:"), "-H:1:3: '' is not a slot count" + hint);
  EXPECT_EQ(read("a:4x"), "-H:1:3: '4x' is not a slot count" + hint);
  EXPECT_EQ(read("a:99999999999999999999"),
            "-H:1:3: '99999999999999999999' is not a slot count" + hint);
  EXPECT_EQ(read("a:1000000,a"), "-H:1:11: more than 1000000 slots on one host");
  EXPECT_EQ(read("a:1:2"), "-H:1:1: 'a:1:2' is neither NAME:SLOTS nor an IPv6 address");
  EXPECT_EQ(read("[2001:zz::1]"), "-H:1:2: '2001:zz::1' is not an IPv6 address");
  EXPECT_EQ(read("[::1]4"),
            "-H:1:6: '4' after an IPv6 address\n  hint: write [ADDRESS] or [ADDRESS]:SLOTS");
}

TEST(Expression, RefusesWhatWouldTakeAllMemory) {
  EXPECT_EQ(read("a,n[1-1000000]"), "-H:1:3: more than 1000000 hosts");
  EXPECT_EQ(read("n[0-999999999999999999]"), "-H:1:1: more than 1000000 hosts");
  std::string brackets = "n";
  for (int i = 0; i < 100; ++i) brackets += "[0-9]";
  EXPECT_EQ(read(brackets), "-H:1:1: more than 1000000 hosts");
  EXPECT_EQ(refusal(parse_expression({.text = "n[1-60],n[1-60]", .name = "-H", .limit = 100})),
            "-H:1:9: more than 100 hosts");
  EXPECT_EQ(read("n[1-" + std::string(65536, '9') + "]"),
            "-H:1:5: a number of 65536 digits; 18 at most");
  EXPECT_EQ(read(std::string(254, 'a')), "-H:1:1: a host name longer than 253 bytes");
  EXPECT_EQ(read(std::string(250, 'a') + "[1-1000]"), "-H:1:1: a host name longer than 253 bytes");
}

TEST(Expression, TakesAMillionHosts) {
  const auto hosts = parse_expression("n[1-1000000]");
  ASSERT_TRUE(hosts.has_value());
  EXPECT_EQ(hosts->size(), 1000000U);
  EXPECT_EQ(hosts->back().name, "n1000000");
}

TEST(Expression, RefusesNothingAtAll) {
  EXPECT_EQ(read(" \n"), "-H:1:1: no host is named here\n  hint: name some: node[01-16]:4");
}

}  // namespace
}  // namespace muster::hosts
