#include "facts/saved_state.hpp"

#include <gtest/gtest.h>

namespace muster::facts {
namespace {

SavedState a_state() {
  SavedState state{
      .host = "n1", .hostname = "node1", .saved_s = 1793577600, .facts = Facts{.host = "n1"}};
  state.facts->memory_bytes = 77;
  state.facts->gpus = {Gpu{.vendor = "NVIDIA", .pcie_width = 16}};
  put_rate(
      state,
      {.to = "n2", .to_hostname = "node2", .how = "bare", .bytes_per_second = 1e9, .saved_s = 5});
  return state;
}

TEST(SavedState, IsReadBackAsItWasWritten) {
  const auto state = parse_saved_state(to_json(a_state()));
  ASSERT_TRUE(state);
  EXPECT_EQ(to_json(*state), to_json(a_state()));
  EXPECT_EQ(state->facts->memory_bytes, 77);
  EXPECT_EQ(state->rates.at(0).to_hostname, "node2");
  SavedState only_rates{.host = "n1"};
  EXPECT_EQ(parse_saved_state(to_json(only_rates))->facts.has_value(), false);
}

TEST(SavedState, OfAnOlderMusterMayLackFacts) {
  const auto state = parse_saved_state(
      R"({"host": "n1", "saved_s": 5, "facts": {"memory_bytes": 77, "gpus": [{"pci": "0"}]}})");
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_EQ(state->facts->memory_bytes, 77);
  EXPECT_EQ(state->facts->shm_bytes, -1);
  EXPECT_EQ(state->facts->gpus.at(0).ecc_uncorrected, -1);
  EXPECT_TRUE(state->rates.empty());
  const auto rates = parse_saved_state(R"({"rates": [{"to": "n2", "bytes_per_second": 5}]})");
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_EQ(rates->rates.at(0).to_hostname, "");
}

TEST(SavedState, ThatIsWrongIsRefused) {
  const char* const wrong[] = {
      "",
      "[]",
      "{\"host\": 5}",
      "{\"facts\": []}",
      R"({"facts": {"memory_bytes": "much"}})",
      R"({"saved_s": -1})",
      R"({"saved_s": 1e300})",
      R"({"rates": [{"bytes_per_second": 0}]})",
      R"({"rates": [{"bytes_per_second": -5}]})",
      R"({"rates": [{"bytes_per_second": 1e9, "saved_s": 1e99}]})",
  };
  for (const char* const json : wrong) {
    const auto state = parse_saved_state(json);
    ASSERT_FALSE(state) << json;
    EXPECT_TRUE(state.error().what.starts_with("this is not the saved state of a host: "));
  }
}

TEST(SavedState, HoldsOnlyWhatIsCompared) {
  Facts facts{.host = "n1", .hostname = "node1", .uid = 1000, .user = "alice"};
  facts.home = "/home/alice";
  facts.kernel = "6.1";
  facts.folder_exists = true;
  facts.clock_s = 5;
  facts.listeners = {{.port = 80}};
  facts.routes = {{.destination = "0.0.0.0/0", .interface = "eth0"}};
  facts.environment.seen = {{"PATH", "/bin"}};
  facts.not_seen = {{.what = "interfaces", .why = "text of a tool"}};
  facts.gpus = {Gpu{.model = "H100",
                    .uuid = "GPU-1",
                    .memory_used_bytes = 5,
                    .pcie_width = 16,
                    .processes = {{.pid = 1}},
                    .xids = {{.code = 79}}}};
  facts.rdma = {{.device = "mlx5_0", .gids = {{.index = 3}}, .interfaces = {"eth0"}}};
  facts.mpi = {{.version = "5.0.11", .launcher = "/opt/mpirun", .library = {.hash = "x"}}};
  Facts expected{.host = "n1", .hostname = "node1"};
  expected.kernel = "6.1";
  expected.not_seen = {{.what = "interfaces"}};
  expected.gpus = {Gpu{.model = "H100", .pcie_width = 16}};
  expected.rdma = {{.device = "mlx5_0"}};
  expected.mpi = {{.version = "5.0.11", .launcher = "/opt/mpirun"}};
  EXPECT_EQ(to_json(worth_saving(facts)), to_json(expected));
}

TEST(SavedState, IsOfOneMachine) {
  EXPECT_TRUE(is_of_machine(a_state(), "node1"));
  EXPECT_FALSE(is_of_machine(a_state(), "node2"));
  EXPECT_TRUE(is_of_machine(SavedState{.host = "n1"}, "node2"));
}

TEST(SavedState, HasOneRateForEachLinkAndWayToMeasure) {
  SavedState state = a_state();
  put_rate(state, {.to = "n2", .how = "bare", .bytes_per_second = 2e9, .saved_s = 6});
  put_rate(state, {.to = "n2", .how = "gloo", .bytes_per_second = 3e9, .saved_s = 6});
  ASSERT_EQ(state.rates.size(), 2U);
  EXPECT_EQ(state.rates[0].bytes_per_second, 2e9);
  EXPECT_EQ(state.rates[1].bytes_per_second, 3e9);
}

TEST(SavedState, SaysDatesInUtc) {
  EXPECT_EQ(date_text(1793577600), "2026-11-02");
  EXPECT_EQ(date_text(1793577599), "2026-11-01");
}

}  // namespace
}  // namespace muster::facts
