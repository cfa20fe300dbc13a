#include "agent/rank_environment.hpp"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::string_view_literals;

TEST(ParseEnvironment, EntriesEndedByNul) {
  const auto environment = parse_environment("A=1\0B=x=y\0\0=z\0nothing\0C=\0D=two\nlines"sv);
  EXPECT_EQ(environment, (Environment{{"A", "1"}, {"B", "x=y"}, {"C", ""}, {"D", "two\nlines"}}));
  EXPECT_TRUE(parse_environment("").empty());
}

TEST(LayOver, TakesTheEnginesAndTheForwarded) {
  const Environment activated = {{"PATH", "/venv/bin"},
                                 {"LD_LIBRARY_PATH", "/venv/lib"},
                                 {"OMPI_COMM_WORLD_RANK", "9"},
                                 {"KEPT", "yes"},
                                 {"X", "old"}};
  const Environment inherited = {{"PATH", "/bin"},
                                 {"LD_LIBRARY_PATH", "/lib"},
                                 {"OMPI_COMM_WORLD_RANK", "1"},
                                 {"PMI_FD", "7"},
                                 {"HYDI_CONTROL_FD", "8"},
                                 {"CUDA_VISIBLE_DEVICES", "3"},
                                 {"X", "new"},
                                 {"Y", "new"},
                                 {"NOISE", "1"},
                                 {"RANK", "5"},
                                 {"MUSTER_FORWARD", "X,Y,,missing"}};
  EXPECT_EQ(lay_over(activated, inherited, {}), (Environment{{"PATH", "/venv/bin"},
                                                             {"LD_LIBRARY_PATH", "/venv/lib"},
                                                             {"OMPI_COMM_WORLD_RANK", "1"},
                                                             {"KEPT", "yes"},
                                                             {"X", "new"},
                                                             {"Y", "new"},
                                                             {"PMI_FD", "7"},
                                                             {"HYDI_CONTROL_FD", "8"},
                                                             {"CUDA_VISIBLE_DEVICES", "3"},
                                                             {"MUSTER_FORWARD", "X,Y,,missing"}}));
}

TEST(LayOver, TorchrunsVariablesAreTheEngines) {
  const Environment inherited = {
      {"RANK", "5"}, {"MASTER_ADDR", "n1"}, {"TORCHELASTIC_RUN_ID", "x"}};
  EXPECT_EQ(lay_over({}, inherited, {.under_agent = true}), inherited);
}

TEST(Compose, EngineSaysWhoTheRankIs) {
  const auto composed = compose({{"RANK", "7"}, {"WORLD_SIZE", "8"}, {"GROUP_RANK", "3"}},
                                {.rank = {.rank = 1, .size = 2}, .run_id = "r1"});
  EXPECT_EQ(composed.environment.at("RANK"), "1");
  EXPECT_EQ(composed.environment.at("WORLD_SIZE"), "2");
  EXPECT_FALSE(composed.environment.contains("GROUP_RANK"));
  EXPECT_EQ(composed.environment.at("MUSTER_RUN_ID"), "r1");
  EXPECT_TRUE(composed.kept.empty());
}

TEST(Compose, UsersSettingWinsAloud) {
  const Wishes wishes{.master = Master{"n1", "29500"},
                      .network = {{"GLOO_SOCKET_IFNAME", "eth0"}},
                      .unbuffered = true};
  const auto bare = compose({}, wishes);
  EXPECT_EQ(bare.environment.at("MASTER_ADDR"), "n1");
  EXPECT_EQ(bare.environment.at("MASTER_PORT"), "29500");
  EXPECT_EQ(bare.environment.at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(bare.environment.at("PYTHONUNBUFFERED"), "1");
  const auto own = compose({{"MASTER_ADDR", "n1"},
                            {"MASTER_PORT", "1234"},
                            {"GLOO_SOCKET_IFNAME", "eth9\x1b"},
                            {"PYTHONUNBUFFERED", ""}},
                           wishes);
  EXPECT_EQ(own.environment.at("MASTER_PORT"), "1234");
  EXPECT_EQ(own.environment.at("GLOO_SOCKET_IFNAME"), "eth9\x1b");
  EXPECT_EQ(own.environment.at("PYTHONUNBUFFERED"), "");
  EXPECT_EQ(own.kept, (std::vector<std::string>{"MASTER_PORT=1234 (not 29500)",
                                                "GLOO_SOCKET_IFNAME=eth9? (not eth0)"}));
}

TEST(Compose, RestartsAreCountedByMusterWhateverTheEngineSays) {
  const Environment base = {{"TORCHELASTIC_RESTART_COUNT", "0"},
                            {"TORCHELASTIC_MAX_RESTARTS", "0"}};
  for (const bool torchrun : {false, true}) {
    Wishes wishes{.rank = {.under_agent = torchrun}, .restarts = Restarts{.made = 2, .most = 5}};
    const auto told = compose(base, wishes).environment;
    EXPECT_EQ(told.at("TORCHELASTIC_RESTART_COUNT"), "2");
    EXPECT_EQ(told.at("TORCHELASTIC_MAX_RESTARTS"), "5");
    wishes.restarts.reset();
    EXPECT_EQ(compose(base, wishes).environment.at("TORCHELASTIC_RESTART_COUNT"), "0");
  }
}

TEST(Compose, TorchrunsMasterIsItsOwn) {
  const auto composed = compose({{"MASTER_PORT", "1"}},
                                {.rank = {.under_agent = true}, .master = Master{"n1", "29500"}});
  EXPECT_EQ(composed.environment.at("MASTER_PORT"), "1");
  EXPECT_FALSE(composed.environment.contains("MASTER_ADDR"));
  EXPECT_TRUE(composed.kept.empty());
}

TEST(Compose, RankZeroTooJoinsAStoreThatIsServed) {
  const auto told = compose({}, {.join_store = true}).environment;
  EXPECT_EQ(told.at("TORCHELASTIC_USE_AGENT_STORE"), "True");
  EXPECT_EQ(told.at("TORCHELASTIC_RESTART_COUNT"), "0");
  EXPECT_NE(compose({}, {}).environment["TORCHELASTIC_USE_AGENT_STORE"], "True");
}

TEST(LayOver, OurDefaultsGiveWayToTheActivation) {
  const Environment inherited = {{"MUSTER_FORWARD", "A"},
                                 {"MUSTER_DEFAULT", "OMP_NUM_THREADS,B"},
                                 {"A", "user"},
                                 {"OMP_NUM_THREADS", "2"},
                                 {"B", "ours"}};
  const Environment activated = {{"A", "activated"}, {"OMP_NUM_THREADS", "7"}};
  const Environment both = lay_over(activated, inherited, {});
  EXPECT_EQ(both.at("A"), "user");
  EXPECT_EQ(both.at("OMP_NUM_THREADS"), "7");
  EXPECT_EQ(both.at("B"), "ours");
}

}  // namespace
}  // namespace muster::agent
