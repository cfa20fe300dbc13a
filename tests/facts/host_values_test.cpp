#include "facts/host_values.hpp"

#include <gtest/gtest.h>

#include "facts/users.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(OsRelease, the_pretty_name_without_quotes) {
  EXPECT_EQ(parse_os_release("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Debian GNU/Linux 12");
  EXPECT_EQ(parse_os_release("PRETTY_NAME='A B'"), "A B");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(parse_os_release("NAME=x"), "");
}

TEST(Ahosts, each_address_once_and_without_zone) {
  EXPECT_EQ(parse_ahosts("127.0.1.1 STREAM n1\n127.0.1.1 DGRAM\nfe80::1%eth0 RAW\n\n"),
            (std::vector<std::string>{"127.0.1.1", "fe80::1"}));
}

TEST(LockedMemory, has_no_limit_with_the_capability) {
  const std::string whole = "         0          0 4294967295\n";
  const std::string with = "Name:\tsh\nCapPrm:\t0\nCapEff:\t0000000000004000\n";
  EXPECT_TRUE(locks_without_limit(with, whole));
  EXPECT_FALSE(
      locks_without_limit("CapEff:\t00000000a80425fb\n", whole));  // a container's default set
  EXPECT_FALSE(locks_without_limit(with, "         0       1000          1\n"));
  EXPECT_FALSE(locks_without_limit("", whole));
}

TEST(Resolve, an_unknown_name_has_no_address) {
  const auto none = resolve("no-such-name.invalid", kDeadline);
  if (none) {
    EXPECT_TRUE(none->empty());  // without a value, no resolver answered in time
  }
  EXPECT_FALSE(resolve("localhost", kDeadline).value().empty());
}

TEST(Resolve, a_slow_resolver_gets_as_long_as_the_caller_says) {
  FakeTree tree;
  tree.write("getent", "#!/bin/sh\n/bin/sleep 0.5\necho 198.18.0.1 STREAM\n", 0755);
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", tree.root().c_str(), 1);
  const auto in_time = resolve("n1", kDeadline);
  const auto too_late = resolve("n1", std::chrono::milliseconds(100));
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(in_time.value(), std::vector<std::string>{"198.18.0.1"});
  ASSERT_FALSE(too_late);
  EXPECT_NE(too_late.error().what.find("no answer within the time limit"), std::string::npos);
}

TEST(HostValues, of_this_machine) {
  Facts facts;
  read_host_values(facts);
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_GT(facts.memory_bytes, 1 << 20);
  EXPECT_GT(facts.limits.nofile.soft, 0);
  EXPECT_LT(facts.port_range_first, facts.port_range_last);
}

TEST(Passwd, the_first_line_of_a_uid_counts) {
  const Users users = parse_passwd(
      "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/toor:/bin/sh\nada:x:1000:1000:A,B:/home/ada:\n"
      "bad:x:no:1::/b:\nshort:x:5\n");
  EXPECT_EQ(users.size(), 2U);
  EXPECT_EQ(name_of(users, 0), "root");
  EXPECT_EQ(users.at(1000).home, "/home/ada");
  EXPECT_EQ(name_of(users, 77), "77");
}

}  // namespace
}  // namespace muster::facts
