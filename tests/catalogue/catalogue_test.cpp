#include "catalogue/catalogue.hpp"

#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <re2/re2.h>

namespace muster::catalogue {
namespace {

const std::set<std::string> kPlaceholders = {"host",   "port", "address", "interface",
                                             "pid",    "path", "rank",    "library",
                                             "module", "user", "device",  "hosts"};

void expect_known_placeholders(const Failure& failure, const std::string& text) {
  const std::regex placeholder(R"(\{\{|\}\}|\{([^{}]*)\})");
  for (std::sregex_iterator at(text.begin(), text.end(), placeholder), end; at != end; ++at) {
    if ((*at)[1].matched) {
      EXPECT_TRUE(kPlaceholders.contains((*at)[1])) << failure.id << ": " << text;
    }
  }
}

TEST(Catalogue, IsReadWhole) {
  EXPECT_GT(failures().size(), 240u);
  std::set<std::string> topics;
  for (const Failure& failure : failures()) topics.insert(failure.topic);
  EXPECT_GT(topics.size(), 18u);  // a file that could not be read would be missing here
}

TEST(Catalogue, HasEachIdOnce) {
  std::set<std::string> ids;
  for (const Failure& failure : failures()) {
    EXPECT_TRUE(ids.insert(failure.id).second) << failure.id;
    EXPECT_TRUE(std::regex_match(failure.id, std::regex("[a-z0-9]+(-[a-z0-9]+)*"))) << failure.id;
    EXPECT_EQ(find(failure.id), &failure);
  }
  EXPECT_EQ(find("no-such-failure"), nullptr);
}

TEST(Catalogue, HasTextsThatCanBeShown) {
  constexpr std::size_t kLongestTitle = 75;
  for (const Failure& failure : failures()) {
    EXPECT_LE(failure.title.size(), kLongestTitle) << failure.id;
    EXPECT_FALSE(failure.title.empty() || failure.title.ends_with('.')) << failure.id;
    EXPECT_FALSE(failure.meaning.empty()) << failure.id;
    EXPECT_FALSE(failure.sources.empty()) << failure.id;
    EXPECT_TRUE(failure.kind == Kind::kBenign || !failure.fix.empty()) << failure.id;
    expect_known_placeholders(failure, failure.title);
    expect_known_placeholders(failure, failure.meaning);
    for (const std::string& step : failure.prove) expect_known_placeholders(failure, step);
    for (const std::string& step : failure.fix) expect_known_placeholders(failure, step);
  }
}

TEST(Catalogue, HasPatternsThatAreNotAmbiguous) {
  for (const Failure& failure : failures()) {
    for (const std::string& pattern : failure.patterns) {
      const RE2 regex(pattern);
      EXPECT_TRUE(regex.ok()) << failure.id << ": " << pattern << ": " << regex.error();
      EXPECT_FALSE(RE2::PartialMatch("", regex)) << failure.id << " matches everything";
      for (const auto& [name, number] : regex.NamedCapturingGroups()) {
        EXPECT_TRUE(kPlaceholders.contains(name)) << failure.id << ": " << pattern;
      }
    }
  }
}

TEST(Catalogue, IsRefusedWithTheEntryThatIsWrong) {
  const auto found = parse("ssh", "- id: a\n  title: b\n  kind: maybe\n  symptom: hang\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "the failure catalogue cannot be read: a has an unknown kind");
}

TEST(Catalogue, IsRefusedWithAKeyThatNobodyReads) {
  const auto found = parse("ssh", "- id: a\n  title: b\n  fixes: []\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what,
            "the failure catalogue cannot be read: a has an unknown key 'fixes'");
}

}  // namespace
}  // namespace muster::catalogue
