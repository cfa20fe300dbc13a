#include "remote/ignore.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace muster::remote {
namespace {

std::vector<std::string> parts(const std::string& path) {
  std::istringstream stream(path);
  std::vector<std::string> all;
  for (std::string part; std::getline(stream, part, '/');) all.push_back(part);
  return all;
}

// Whether an ignore file with this text, at the top, excludes the path. A path that ends in a slash
// is a folder.
bool ignores(const std::string& text, const std::string& path) {
  const std::vector<IgnoreFile> files = {{.depth = 0, .patterns = parse_ignore_file(text)}};
  return is_ignored(parts(path), path.ends_with('/'), files) == Ignored::kYes;
}

struct Row {
  const char* text;
  const char* path;
  bool ignored;
};

// `ignored` is what `git check-ignore` says.
constexpr Row kRows[] = {
    {"a.pt", "a.pt", true},
    {"a.pt", "deep/down/a.pt", true},
    {"a.pt", "a.pt2", false},
    {"*.pt", "deep/a.pt", true},
    {"*.pt", ".pt", true},
    {"/a.pt", "a.pt", true},
    {"/a.pt", "deep/a.pt", false},
    {"deep/a.pt", "deep/a.pt", true},
    {"deep/a.pt", "more/deep/a.pt", false},
    {"data/", "data/", true},
    {"data/", "deep/data/", true},
    {"data/", "data", false},
    {"/data/", "deep/data/", false},
    {"deep/*.pt", "deep/a.pt", true},
    {"deep/*.pt", "deep/er/a.pt", false},
    {"deep*", "deep/", true},
    {"d?ta", "data", true},
    {"[a-c].py", "b.py", true},
    {"[!a-c].py", "b.py", false},
    {"**/a.pt", "a.pt", true},
    {"**/a.pt", "x/y/a.pt", true},
    {"**/x/a.pt", "x/y/a.pt", false},
    {"x/**/a.pt", "x/a.pt", true},
    {"x/**/a.pt", "x/y/z/a.pt", true},
    {"x/**/y/**/a.pt", "x/y/y/z/a.pt", true},
    {"x/**/y/**/a.pt", "x/z/a.pt", false},
    {"x/**", "x/", false},
    {"x/**", "x/y", true},
    {"**", "x", true},
    {"a**b", "ab", true},
    {"# not this\n\n", "# not this", false},
    {"\\#this", "#this", true},
    {"\\!this", "!this", true},
    {"a.pt  ", "a.pt", true},
    {"a\\ ", "a ", true},
    {"a.pt\r\nb.pt\r\n", "a.pt", true},
    {"\xEF\xBB\xBF"
     "a.pt",
     "a.pt", true},
    {"*\n!*.py", "train.py", false},
    {"*\n!*.py", "notes.txt", true},
    {"!*.py\n*", "train.py", true},
    {"/", "x", false},
    {"!", "x", false},
    {"x\ny", "with\nline", false},
};

TEST(Ignore, PatternsMeanWhatTheyMeanToGit) {
  for (const Row& row : kRows) {
    EXPECT_EQ(ignores(row.text, row.path), row.ignored) << row.text << " and " << row.path;
  }
}

TEST(Ignore, ADeeperFileDecidesAndSpeaksOfItsOwnFolder) {
  const std::vector<IgnoreFile> files = {{.depth = 0, .patterns = parse_ignore_file("*.pt\n/x")},
                                         {.depth = 1, .patterns = parse_ignore_file("!a.pt\n/x")}};
  EXPECT_EQ(is_ignored(parts("deep/a.pt"), false, files), Ignored::kNo);
  EXPECT_EQ(is_ignored(parts("deep/b.pt"), false, files), Ignored::kYes);
  EXPECT_EQ(is_ignored(parts("deep/x"), false, files), Ignored::kYes);
  EXPECT_EQ(is_ignored(parts("deep/down/x"), false, files), Ignored::kNotSaid);
}

TEST(Ignore, AHostilePatternCostsNoMoreThanOthers) {
  std::string pattern;
  std::string path;
  for (int i = 0; i < 200; ++i) {
    pattern += "**/a*a*a*/";
    path += "aaaaaaaaaaaaaaaaaaaaaaaa/";
  }
  EXPECT_FALSE(ignores(pattern + "b", path + "c"));
}

}  // namespace
}  // namespace muster::remote
