#include <gtest/gtest.h>

#include "launch/engine_plans.hpp"
#include "launch/three_hosts.hpp"

namespace muster::launch {
namespace {

using Words = std::vector<std::string>;

layout::Job job() {
  return {.program = {"python", "train.py"}, .folder = "/work/it", .env = {"NCCL_DEBUG"}};
}

layout::Layout two_hosts() {
  layout::Layout layout;
  layout.engine = {.kind = "torchrun", .version = "2.13.0", .major = 2, .launcher = "torchrun"};
  layout.placements = {{.host = "n1", .first_rank = 0, .ranks = 2, .address = "198.18.0.1"},
                       {.host = "n2", .first_rank = 2, .ranks = 3, .address = "198.18.0.2"}};
  layout.ranks = 5;
  layout.subnet = "198.18.0.0/16";
  layout.master_address = "198.18.0.1";
  layout.master_port = 29500;
  layout.threads = 4;
  return layout;
}

Means means() {
  return {.shim = "/tmp/m/muster", .run_id = "r1", .folder = "/runs/r1", .ssh = {"ssh", "-T"}};
}

TEST(Torchrun, RunsOnEveryHostAndMeetsAtTheChosenAddress) {
  const auto plan = plan_torchrun(job(), two_hosts(), means());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->commands.size(), 2U);
  const Words first = {
      "ssh", "-T", "--", "n1",
      "exec /tmp/m/muster engine --run r1 --folder /work/it -- torchrun --nnodes 2 "
      "--nproc-per-node 2 --rdzv-backend static --rdzv-endpoint 198.18.0.1:29500 --rdzv-id r1 "
      "--node-rank 0 --no-python -- /tmp/m/muster rank --run r1 "
      "--subnet 198.18.0.0/16 --master 198.18.0.1:29500 -- python train.py"};
  EXPECT_EQ(plan->commands[0].argv, first);
  EXPECT_TRUE(plan->commands[0].input);
  EXPECT_FALSE(plan->commands[1].input);
  EXPECT_EQ(plan->commands[1].host, "n2");
  EXPECT_NE(plan->commands[1].argv.back().find("--nproc-per-node 3 "), std::string::npos);
  EXPECT_NE(plan->commands[1].argv.back().find("--node-rank 1 "), std::string::npos);
}

TEST(Torchrun, TakesAnIpv6AddressInBrackets) {
  layout::Layout layout = two_hosts();
  layout.master_address = "fd00::1";
  const auto plan = plan_torchrun(job(), layout, means());
  const std::string& words = plan->commands[1].argv.back();
  EXPECT_NE(words.find("--rdzv-endpoint '[fd00::1]:29500' "), std::string::npos) << words;
  EXPECT_NE(words.find("--master '[fd00::1]:29500' "), std::string::npos) << words;
}

TEST(Torchrun, NeedsNoSshOnThisMachine) {
  layout::Layout layout = two_hosts();
  layout.placements[0].here = true;
  const auto plan = plan_torchrun(job(), layout, means());
  ASSERT_TRUE(plan);
  const Words& words = plan->commands[0].argv;
  EXPECT_EQ(
      Words(words.begin(), words.begin() + 8),
      (Words{"/tmp/m/muster", "engine", "--run", "r1", "--folder", "/work/it", "--", "torchrun"}));
  EXPECT_EQ(plan->commands[0].host, "n1");
  EXPECT_EQ(plan->commands[1].argv[0], "ssh");
}

TEST(Torchrun, LeavesTheVariablesToMuster) {
  const auto plan = plan_torchrun(job(), two_hosts(), means());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->carried,
            (Words{"NCCL_DEBUG", "OMP_NUM_THREADS", "MUSTER_FORWARD", "MUSTER_DEFAULT"}));
  EXPECT_EQ(plan->env, (Words{"OMP_NUM_THREADS=4", "MUSTER_FORWARD=NCCL_DEBUG",
                              "MUSTER_DEFAULT=OMP_NUM_THREADS"}));
}

TEST(Torchrun, PassesOnRestartsAndFewerHosts) {
  layout::Layout layout = two_hosts();
  layout.min_hosts = 1;
  layout.max_restarts = 3;
  const auto plan = plan_torchrun(job(), layout, means());
  ASSERT_TRUE(plan);
  EXPECT_NE(plan->commands[0].argv.back().find("--nnodes 1:2 "), std::string::npos);
  EXPECT_NE(plan->commands[0].argv.back().find("--max-restarts 3 "), std::string::npos);
}

// With c10d, torchrun's agents unpickle data from a store. Anyone who can connect to its port can
// write to it.
TEST(Torchrun, MeetsThroughC10dOnlyWhenElasticOrAskedFor) {
  const auto words = [](const layout::Job& given, const layout::Layout& decided) {
    return plan_torchrun(given, decided, means()).value().commands[1].argv.back();
  };
  EXPECT_EQ(words(job(), two_hosts()).find("c10d"), std::string::npos);
  layout::Layout elastic = two_hosts();
  elastic.min_hosts = 1;
  EXPECT_NE(words(job(), elastic)
                .find("--rdzv-backend c10d --rdzv-endpoint 198.18.0.1:29500 --rdzv-id r1 "
                      "--rdzv-conf is_host=0 --local-addr 198.18.0.2"),
            std::string::npos);
  EXPECT_EQ(words(job(), elastic).find("--node-rank"), std::string::npos);
  layout::Job asking = job();
  asking.engine_args = {"--rdzv_backend=c10d"};
  EXPECT_NE(words(asking, two_hosts()).find("--rdzv-conf is_host=0"), std::string::npos);
}

TEST(Torchrun, RestartsNothingWhereMusterDoesAndTellsTheRanks) {
  Means restarting = means();
  restarting.restarts_made = 1;
  restarting.restarts_most = 3;
  const auto plan = plan_torchrun(job(), two_hosts(), restarting);
  ASSERT_TRUE(plan);
  const std::string& words = plan->commands[0].argv.back();
  EXPECT_NE(words.find("--max-restarts 0 "), std::string::npos);
  EXPECT_NE(words.find(" --restarts 1:3 -- "), std::string::npos);
}

TEST(Torchrun, WhatTheUserGivesTakesThePlaceOfOurs) {
  layout::Job given = job();
  given.engine_args = {"--rdzv-endpoint=n1:5"};
  const auto plan = plan_torchrun(given, two_hosts(), means());
  ASSERT_TRUE(plan);
  const std::string& words = plan->commands[0].argv.back();
  EXPECT_EQ(words.find("--rdzv-endpoint"), words.rfind("--rdzv-endpoint"));
  EXPECT_EQ(plan->notes,
            (Words{"--rdzv-endpoint comes from --engine-arg; muster does not change it"}));
}

TEST(Torchrun, InAPodIsOneAndHasItsNumber) {
  layout::Layout layout = two_hosts();
  layout.engine.kind = "pods";
  layout.placements = {{.host = "pod-1", .first_rank = 2, .ranks = 2}};
  layout.ranks = 6;
  layout::Job in_pod = job();
  in_pod.pods = 3;
  in_pod.pod = 1;
  const auto plan = plan_torchrun(in_pod, layout, means());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->commands.size(), 1U);
  const std::string expected =
      "/tmp/m/muster engine --run r1 --folder /work/it -- torchrun --nnodes 3 --node-rank 1 "
      "--nproc-per-node 2 --master-addr 198.18.0.1 --master-port 29500 --rdzv-backend static "
      "--rdzv-endpoint 198.18.0.1:29500 --max-restarts 0 --no-python -- /tmp/m/muster rank --run "
      "r1 --subnet 198.18.0.0/16 --master 198.18.0.1:29500 -- python train.py";
  EXPECT_EQ(line_of(plan->commands[0]), expected);
  EXPECT_FALSE(plan->commands[0].input);
}

TEST(Torchrun, NeedsAnAddressToMeetAt) {
  layout::Layout layout = two_hosts();
  layout.master_address.clear();
  const auto plan = plan_torchrun(job(), layout, means());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().hint, "pass an address: --master-addr ADDRESS --master-port PORT");
}

}  // namespace
}  // namespace muster::launch
