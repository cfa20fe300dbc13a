#include "agent/inspector.hpp"

#include <gtest/gtest.h>

#include "base/json_fields.hpp"
#include "inspect/inspection_fields.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kRoomy = std::size_t{1} << 20;

// A view with about a hundred connections, operations and stacks.
inspect::HostView large_view() {
  inspect::RankView rank{.rank = 3, .stacks = {{.source = "py-spy", .python = true}}};
  rank.groups.push_back({.name = "0"});
  for (int i = 0; i < 100; ++i) {
    rank.connections.push_back({.local = "198.18.0.1"});
    rank.groups[0].operations.push_back({.name = "all_reduce", .number = i, .done = i < 99});
    rank.stacks.push_back({.source = "eu-stack", .frames = {{.function = std::string(200, 'f')}}});
  }
  return {.ranks = {rank}};
}

inspect::HostView read_view(const std::string& line) {
  EXPECT_TRUE(line.ends_with('\n'));
  return parse_fields<inspect::HostView>(line, "cannot read it").value();
}

TEST(LineWithin, KeepsAllThatFits) {
  EXPECT_EQ(read_view(line_within(large_view(), kRoomy)), large_view());
}

TEST(LineWithin, LeavesOutWhatTellsLeastAndSaysSo) {
  const std::size_t whole = line_within(large_view(), kRoomy).size();
  const inspect::HostView first = read_view(line_within(large_view(), whole - 1));
  EXPECT_TRUE(first.ranks[0].connections.empty());
  EXPECT_EQ(first.ranks[0].groups[0].operations.size(), 100U);
  ASSERT_EQ(first.not_seen.size(), 1U);
  EXPECT_TRUE(first.not_seen[0].starts_with("connections: left out"));

  const inspect::HostView last = read_view(line_within(large_view(), 5000));
  EXPECT_EQ(last.ranks[0].groups[0].operations.size(), 1U);
  EXPECT_EQ(last.ranks[0].stacks.size(), 1U);
  EXPECT_EQ(last.not_seen.size(), 3U);

  const inspect::HostView none = read_view(line_within(large_view(), 500));
  EXPECT_TRUE(none.ranks.empty());
  EXPECT_EQ(none.not_seen, std::vector<std::string>{"the inspection found too much to report"});
}

}  // namespace
}  // namespace muster::agent
