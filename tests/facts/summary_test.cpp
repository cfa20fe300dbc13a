#include "facts/summary.hpp"

#include <gtest/gtest.h>

namespace muster::facts {
namespace {

TEST(Summary, shows_what_a_person_looks_for) {
  Facts facts;
  facts.hostname = "node";
  facts.interfaces = {{.name = "eth0", .up = true, .mtu = 9000, .addresses = {{"198.18.0.1", 16}}}};
  facts.ssh_files = {{.path = "/home/a", .problem = "sshd refuses it"}, {.path = "/fine"}};
  facts.program = Program{.name = "train"};
  facts.software = Software{.python = "3.11.2",
                            .packages = {{"numpy", "2.1.0"}},
                            .libraries = {{.name = "a", .path = "/a", .hash = "1"},
                                          {.name = "b", .path = "/b"},
                                          {.name = "c", .path = "/c", .remote = true},
                                          {.name = "missing"}}};
  facts.environment.failure = "exit code 1: first\nsecond";
  facts.not_seen = {{.what = "routes", .why = "denied"}};
  const std::string text = summary(facts);
  for (const char* part :
       {"eth0 (port, up), MTU 9000, 198.18.0.1/16", "/home/a: sshd refuses it",
        "train does not exist", "Python 3.11.2 with 1 package\n",
        "loads 4 libraries, 1 of them known by size and build-id only, 1 on a network file system",
        "failed: exit code 1: first\n            second\n", "not seen    routes: denied\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("/fine"), std::string::npos);
}

TEST(Summary, moves_no_cursor) {
  Facts facts;
  facts.hostname = "\033[2Jx";
  EXPECT_EQ(summary(facts).find('\033'), std::string::npos);
}

}  // namespace
}  // namespace muster::facts
