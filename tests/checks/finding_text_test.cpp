#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

TEST(FindingText, IsEmptyWithoutFindings) {
  EXPECT_EQ(to_text({}), "");
}

TEST(FindingText, ShowsHostsFoldedAndCommandsWhole) {
  const std::string command = "  muster exec -- " + std::string(100, 'x') + " y";
  const std::vector<Finding> findings = {
      {.id = "an-id",
       .severity = Severity::kError,
       .hosts = {"n1", "n2"},
       .what = "it is broken",
       .evidence = "seen so",
       .fix = "do this:\n" + command},
      {.id = "other-id", .severity = Severity::kNote, .what = "all is well", .fix = "  true"}};
  EXPECT_EQ(to_text(findings),
            "ERROR    n[1-2]  it is broken [an-id]\n"
            "         seen  seen so\n"
            "         fix   do this:\n"
            "               " +
                command +
                "\n"
                "\n"
                "note     all     all is well [other-id]\n"
                "         fix   true\n"
                "\n"
                "1 error, 1 note\n");
}

TEST(FindingText, WrapsAtAHundredColumnsAndLetsNoControlCharacterThrough) {
  std::string long_text;
  for (int i = 0; i < 60; ++i) long_text += "word\x1b[31m ";
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back(fmt::format("host-{}-{}", i * 7, char('a' + i % 26)));
  const std::vector<Finding> findings = {
      {.id = "x", .hosts = {"n1"}, .what = long_text, .evidence = long_text, .fix = long_text}};
  std::istringstream lines(to_text(findings));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST(FindingText, GivesLongHostListsALineOfTheirOwn) {
  std::vector<std::string> hosts;
  for (char letter = 'a'; letter <= 'z'; ++letter) hosts.push_back(std::string("box-") + letter);
  const std::vector<Finding> findings = {{.id = "x", .hosts = hosts, .what = "it is broken"}};
  EXPECT_TRUE(has(to_text(findings), "box-z\n         it is broken [x]\n"));
}

}  // namespace
}  // namespace muster::checks
