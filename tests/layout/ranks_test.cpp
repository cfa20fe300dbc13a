#include "layout/ranks.hpp"

#include <gtest/gtest.h>

#include "hosts/expression.hpp"

namespace muster::layout {
namespace {

Result<std::vector<Placement>> place(std::string_view list, const Job& job) {
  return place_ranks(job, {.hosts = hosts::parse_expression(list).value()});
}

// Formats host, first rank and number of ranks, as in "n1:0+2 n2:2+1".
std::string placed(std::string_view list, const Job& job) {
  const auto placements = place(list, job).value();
  std::string text;
  for (const Placement& one : placements) {
    if (!text.empty()) text += ' ';
    text += one.host + ':' + std::to_string(one.first_rank) + '+' + std::to_string(one.ranks);
  }
  return text;
}

std::string refused(std::string_view list, const Job& job) {
  const auto placements = place(list, job);
  if (placements) return "placed";
  EXPECT_EQ(placements.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(placements.error().hint.empty());
  return placements.error().what;
}

TEST(PlaceRanks, TakesRanksPerHostThenSlotsThenOne) {
  EXPECT_EQ(placed("n[1-2]", {}), "n1:0+1 n2:1+1");
  EXPECT_EQ(placed("n1:4,n2", {}), "n1:0+4 n2:4+1");
  EXPECT_EQ(placed("n1:4,n2", {.ranks_per_host = 2}), "n1:0+2 n2:2+2");
}

TEST(PlaceRanks, SharesRanksOutEvenlyWhereNobodySaidHowManyAHostTakes) {
  EXPECT_EQ(placed("localhost", {.ranks = 2}), "localhost:0+2");
  EXPECT_EQ(placed("n[1-2]", {.ranks = 5}), "n1:0+3 n2:3+2");
  EXPECT_EQ(placed("n[1-3]", {.ranks = 4, .nodes = 2}), "n1:0+2 n2:2+2");
  EXPECT_EQ(placed("n[1-3]", {.ranks = 2}), "n1:0+1 n2:1+1");
}

TEST(PlaceRanks, FillsHostsInOrder) {
  EXPECT_EQ(placed("n[1-3]:4", {.ranks = 6}), "n1:0+4 n2:4+2");
  EXPECT_EQ(placed("n[1-3]:4", {.ranks = 12}), "n1:0+4 n2:4+4 n3:8+4");
  EXPECT_EQ(placed("n[1-3]:4", {.nodes = 2}), "n1:0+4 n2:4+4");
  EXPECT_EQ(placed("n[1-3]", {.ranks_per_host = 2, .ranks = 3, .nodes = 2}), "n1:0+2 n2:2+1");
}

TEST(PlaceRanks, RefusesContradictionsWithBothNumbers) {
  EXPECT_EQ(refused("n[1-2]", {.nodes = 3}), "you asked for 3 hosts, but the list has 2");
  EXPECT_EQ(refused("n[1-2]:1", {.ranks = 8}),
            "you asked for 8 ranks, but the 2 hosts have room for 2");
  EXPECT_EQ(refused("n1:4,n2", {.ranks = 6}),
            "you asked for 6 ranks, but the 2 hosts have room for 5");
  EXPECT_EQ(refused("n[1-2]", {.ranks_per_host = 2, .ranks = 8}),
            "you asked for 8 ranks, but the 2 hosts have room for 4");
  EXPECT_EQ(refused("n1:2", {.ranks_per_host = 4}),
            "you asked for 4 ranks per host, but n1 has 2 slots");
  EXPECT_EQ(refused("n[1-4]:4", {.ranks = 2, .nodes = 4}),
            "you asked for 4 hosts, but 2 ranks fill only 1 of them");
  EXPECT_NE(refused("n1", {.ranks = -1}), "placed");
}

TEST(PlaceRanks, OversubscribedHostsShareWhatTheyLackEvenly) {
  EXPECT_EQ(placed("n1:2,n2:4", {.ranks = 9, .oversubscribe = true}), "n1:0+4 n2:4+5");
  EXPECT_EQ(placed("n1:2,n2:4", {.ranks = 5, .oversubscribe = true}), "n1:0+2 n2:2+3");
  EXPECT_EQ(placed("n1:2", {.ranks_per_host = 4, .oversubscribe = true}), "n1:0+4");
}

TEST(PlaceRanks, FollowsGpusOrCpus) {
  std::vector<facts::Survey> surveys;
  for (const char* name : {"n1", "n2"}) surveys.push_back({.host = name, .facts = facts::Facts{}});
  surveys[0].facts->gpus = {{.vendor = "NVIDIA", .model = "a GPU"},
                            {.vendor = "NVIDIA", .model = "a GPU"}};
  surveys[0].facts->cpu.usable = 8;
  surveys[1].facts->cpu.usable = 3;
  const hosts::Cluster cluster{.hosts = hosts::parse_expression("n1:16,n2,n3").value()};
  const auto counts = [&](const char* by) {
    std::vector<int> result;
    const auto placements = place_ranks({.ranks_by = by}, cluster, surveys);
    for (const Placement& one : placements.value()) result.push_back(one.ranks);
    return result;
  };
  EXPECT_EQ(counts("cpu"), (std::vector{8, 3, 1}));  // n3's facts are unknown
  EXPECT_EQ(counts("auto"), (std::vector{2, 3, 1}));
  EXPECT_EQ(place_ranks({.ranks_by = "gpu"}, cluster, surveys).error().what,
            "you asked for one rank per GPU, but n2 has no GPU");
}

TEST(PlaceRanks, CountsTheGpusThatRanksCanUse) {
  std::vector<facts::Survey> surveys = {{.host = "n1", .facts = facts::Facts{}}};
  facts::Facts& host = *surveys[0].facts;
  host.cpu.usable = 32;
  for (int i = 0; i < 4; ++i) host.gpus.push_back({.vendor = "NVIDIA", .model = "a GPU"});
  const hosts::Cluster cluster{.hosts = hosts::parse_expression("n1").value()};
  Job job{.ranks_by = "auto"};
  const auto count = [&] { return place_ranks(job, cluster, surveys).value().front().ranks; };
  EXPECT_EQ(count(), 4);
  host.environment.seen["CUDA_VISIBLE_DEVICES"] = "0,2";  // as set by the activation
  EXPECT_EQ(count(), 2);
  job.env_values["CUDA_VISIBLE_DEVICES"] = "3";  // set with -x
  EXPECT_EQ(count(), 1);
  job.env_values = {};
  host.environment.seen = {{"SLURM_STEP_GPUS", "4,5,6"}};
  EXPECT_EQ(count(), 3);
  host.environment.seen = {};
  host.gpus[0].problem = "lost";
  host.gpus[1].mig = true;
  host.gpus[1].mig_devices.resize(3);
  EXPECT_EQ(count(), 5);  // three MIG devices and two GPUs
  for (facts::Gpu& gpu : host.gpus) gpu.problem = "lost";
  EXPECT_EQ(count(), 32);
  job.ranks_by = "gpu";
  EXPECT_EQ(place_ranks(job, cluster, surveys).error().what,
            "you asked for one rank per GPU, but n1 has no GPU that ranks can use");
}

TEST(PlaceRanks, RefusesAnEmptyClusterAndASumThatOverflows) {
  EXPECT_EQ(place_ranks({}, {}).error().what, "there is no host to run on");
  const hosts::Cluster cluster{.hosts = {{"n1", 2'000'000'000}, {"n2", 2'000'000'000}}};
  EXPECT_EQ(place_ranks({}, cluster).error().what,
            "4000000000 ranks are more than muster can start");
}

}  // namespace
}  // namespace muster::layout
