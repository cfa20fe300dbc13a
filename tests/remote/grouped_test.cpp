#include "remote/grouped.hpp"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::remote {
namespace {

TEST(Grouped, EqualOutputIsSaidOnceUnderTheHostsThatSaidIt) {
  const std::vector<Said> said = {{"n1", "6.1\n"}, {"n2", "5.10\n"}, {"n3", "6.1\n"}};
  const auto groups = group_equal(said);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(to_text(groups[0]), "--- n[1,3] (2 hosts) ---\n6.1\n");
  EXPECT_EQ(to_text(groups[1]), "--- n2 ---\n5.10\n");
}

TEST(Grouped, TheOddOnesComeLast) {
  const std::vector<Said> said = {{"n1", "odd\n"}, {"n2", "even\n"}, {"n3", "even\n"}};
  EXPECT_EQ(group_equal(said).back().hosts, std::vector<std::string>{"n1"});
}

TEST(Grouped, SilentHostsAreInNoGroup) {
  const std::vector<Said> said = {{"n1", ""}, {"n2", "x"}};
  const auto groups = group_equal(said);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(to_text(groups[0]), "--- n2 ---\nx\n") << "an unfinished line is ended";
}

TEST(Grouped, AHundredThousandHostsThatAllDifferTakeNoTime) {
  constexpr int kHosts = 100'000;
  std::vector<std::string> texts;
  for (int i = 0; i < kHosts; ++i) texts.push_back(std::string(50, 'x') + std::to_string(i));
  std::vector<Said> said;
  for (int i = 0; i < kHosts; ++i) said.push_back({fmt::format("n{}", i), texts[i]});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(group_equal(said).size(), std::size_t{kHosts});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Grouped, FoldsNumbersWrittenAlike) {
  EXPECT_EQ(folded(std::vector<std::string>{"n01", "n02", "n03"}), "n[01-03] (3 hosts)");
  EXPECT_EQ(folded(std::vector<std::string>{"n9", "n10", "n12"}), "n[9-10,12] (3 hosts)");
}

}  // namespace
}  // namespace muster::remote
