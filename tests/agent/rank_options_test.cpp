#include "agent/rank_options.hpp"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using Words = std::vector<std::string>;

TEST(RankOptions, AllOfThem) {
  const auto options = parse_rank_options(
      {"--run", "r1", "--folder", "/job", "--subnet", "10.0.0.0/8", "--master", "10.0.0.1:29500",
       "--quiet-label", "--only-first-reads", "--", "prog", "--run", "--", "x"});
  ASSERT_TRUE(options) << to_text(options.error());
  EXPECT_EQ(options->run_id, "r1");
  EXPECT_EQ(options->folder, "/job");
  EXPECT_EQ(options->subnet, "10.0.0.0/8");
  ASSERT_TRUE(options->master);
  EXPECT_EQ(options->master->address, "10.0.0.1");
  EXPECT_EQ(options->master->port, "29500");
  EXPECT_FALSE(options->label);
  EXPECT_TRUE(options->only_first_reads);
  EXPECT_EQ(options->program, (Words{"prog", "--run", "--", "x"}));
}

TEST(RankOptions, MasterInBrackets) {
  const auto options = parse_rank_options({"--master", "[fd00::1]:5", "--", "p"});
  ASSERT_TRUE(options && options->master);
  EXPECT_EQ(options->master->address, "fd00::1");
}

TEST(RankOptions, Restarts) {
  const auto options = parse_rank_options({"--restarts", "1:3", "--", "a"});
  ASSERT_TRUE(options && options->restarts);
  EXPECT_EQ(options->restarts->made, 1);
  EXPECT_EQ(options->restarts->most, 3);
  for (const char* wrong : {"", "1", "1:", ":3", "-1:3", "1:3x", "a:b"}) {
    EXPECT_FALSE(parse_rank_options({"--restarts", wrong, "--", "a"})) << wrong;
  }
}

TEST(RankOptions, Refusals) {
  for (const Words& words :
       {Words{}, Words{"prog"}, Words{"--"}, Words{"--run"}, Words{"--run", "x"},
        Words{"--nonsense", "--", "p"}, Words{"--master", "n1", "--", "p"},
        Words{"--master", "n1:", "--", "p"}, Words{"--master", "n1:0", "--", "p"},
        Words{"--master", "n1:65536", "--", "p"}, Words{"--master", ":1", "--", "p"}}) {
    const auto options = parse_rank_options(words);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, ErrorCode::kUsage);
    EXPECT_NE(options.error().hint.find("muster rank"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::agent
