#include "hosts/variables.hpp"

#include <gtest/gtest.h>

#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

Result<std::vector<Variable>> parse_env(std::string_view text) {
  return parse_variables({.text = text, .name = "job.env"});
}

TEST(Variables, AFileHasOneInEachLine) {
  const auto all = parse_env(
      "\xEF\xBB\xBF# for the ranks\nA=1\r\n\n  export B='two words' \nC=\"a=b # c\"\nD\nE=\nF='\n");
  ASSERT_TRUE(all.has_value()) << to_text(all.error());
  std::vector<std::pair<std::string, std::optional<std::string>>> found;
  for (const Variable& one : *all) found.emplace_back(one.name, one.value);
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {
      {"A", "1"}, {"B", "two words"}, {"C", "a=b # c"}, {"D", std::nullopt}, {"E", ""}, {"F", "'"}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(all->at(1).where.line, 4);
}

TEST(Variables, AMistakeIsPlacedAndShowsNoValue) {
  EXPECT_EQ(refusal(parse_env("A=1\nMY-TOKEN=hush\n")),
            "job.env:2: this is not the name of a variable\n"
            "  hint: a name consists of letters, digits and '_'");
  EXPECT_EQ(refusal(parse_env("A B=hush\n")).find("hush"), std::string::npos);
  EXPECT_EQ(refusal(parse_env("=hush\n")).find("hush"), std::string::npos);
}

}  // namespace
}  // namespace muster::hosts
