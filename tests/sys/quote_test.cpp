#include "sys/quote.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "sys/process.hpp"

namespace muster::sys {
namespace {

TEST(Quote, LeavesPlainWordsBare) {
  EXPECT_EQ(quote("/usr/bin/env"), "/usr/bin/env");
  EXPECT_EQ(quote("a b"), "'a b'");
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote("it's"), R"('it'\''s')");
}

TEST(Quote, ARealShellReadsTheSameWordsBack) {
  const std::vector<std::string> words = {"printf", "%s\\n", "",  "a'b", "$HOME",
                                          "`id`",   "x\ny",  "*", "~"};
  const auto ended = run({.argv = {"sh", "-c", quote(words)}});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->out, "\na'b\n$HOME\n`id`\nx\ny\n*\n~\n");
}

}  // namespace
}  // namespace muster::sys
