#include "hosts/pod.hpp"

#include <gtest/gtest.h>

#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

const Environment kRunAi = {
    {"WORLD_SIZE", "4"}, {"RANK", "3"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};
const Environment kTorchrun = {{"PET_NNODES", "2"},
                               {"PET_NODE_RANK", "1"},
                               {"PET_MASTER_ADDR", "10.0.0.7"},
                               {"PET_MASTER_PORT", "29400"},
                               {"PET_NPROC_PER_NODE", "8"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

bool is_pod(const Environment& environment) {
  return read_pod(environment).value().has_value();
}

TEST(ReadPod, WorldSizeAndRankCountPods) {
  EXPECT_EQ(*read_pod(kRunAi).value(), (Pod{.count = 4,
                                            .rank = 3,
                                            .master_address = "job-master-0",
                                            .master_port = 23456,
                                            .told_by = "WORLD_SIZE"}));
}

TEST(ReadPod, UnderstandsTorchrunsOwnVariables) {
  EXPECT_EQ(*read_pod(kTorchrun).value(), (Pod{.count = 2,
                                               .rank = 1,
                                               .master_address = "10.0.0.7",
                                               .master_port = 29400,
                                               .ranks_per_pod = 8,
                                               .told_by = "PET_NNODES"}));
  const auto automatic = read_pod(with(kTorchrun, {{"PET_NPROC_PER_NODE", "auto"}})).value();
  EXPECT_EQ(automatic->ranks_per_pod, std::nullopt);
  EXPECT_EQ(automatic->ranks_by, "auto");
  EXPECT_EQ(read_pod(with(kTorchrun, {{"PET_NNODES", "2:2"}})).value()->count, 2);
}

// Kubeflow sets both forms. WORLD_SIZE may be the number of pods or, as with Kubeflow, of all
// ranks.
TEST(ReadPod, BothMayBeSetAndThenAgree) {
  const Environment same = {{"RANK", "1"}, {"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29400"}};
  for (const char* world_size : {"2", "16"}) {
    const auto pod = read_pod(with(with(kTorchrun, same), {{"WORLD_SIZE", world_size}})).value();
    EXPECT_EQ(pod->count, 2);
    EXPECT_EQ(pod->ranks_per_pod, 8);
  }
}

TEST(ReadPod, IsNothingElsewhere) {
  EXPECT_FALSE(is_pod({}));
  // These variables do not say which pod this is.
  EXPECT_FALSE(is_pod({{"MASTER_ADDR", "n1"}, {"WORLD_SIZE", "4"}}));
  EXPECT_FALSE(is_pod({{"RANK", "0"}}));
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID", "PMIX_RANK",
                           "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"}) {
    EXPECT_FALSE(is_pod(with(kRunAi, {{name, "0"}}))) << name;
  }
}

TEST(ReadPod, OnePodNeedsNoMasterAndThePortHasADefault) {
  const auto pod = read_pod({{"WORLD_SIZE", "1"}, {"RANK", "0"}}).value();
  EXPECT_EQ(pod->master_address, "127.0.0.1");
  EXPECT_EQ(pod->master_port, 29500);
}

TEST(ReadPod, RefusesWhatContradictsItself) {
  const auto refused = [](const Environment& environment) {
    const std::string text = refusal(read_pod(environment));
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(refused(with(kTorchrun, {{"WORLD_SIZE", "3"}, {"RANK", "1"}})),
            "PET_NNODES=2 contradicts WORLD_SIZE=3");
  EXPECT_EQ(refused(with(kTorchrun, {{"RANK", "0"}})), "PET_NODE_RANK=1 contradicts RANK=0");
  EXPECT_EQ(refused(with(kTorchrun, {{"MASTER_ADDR", "n9"}})),
            "PET_MASTER_ADDR=10.0.0.7 contradicts MASTER_ADDR=n9");
  EXPECT_EQ(refused(with(kRunAi, {{"RANK", "4"}})), "RANK=4 contradicts WORLD_SIZE=4");
  EXPECT_EQ(refused(with(kRunAi, {{"MASTER_ADDR", ""}})),
            "WORLD_SIZE=4 gives the number of pods, but MASTER_ADDR, the address of the first pod, "
            "is not set");
  EXPECT_EQ(refused(with(kTorchrun, {{"PET_NNODES", "1:3"}})),
            "PET_NNODES=1:3: the job is elastic, and pods of an elastic job have no fixed numbers");
}

TEST(ReadPod, RefusesWhatIsNoNumberNoAddressOrNoPort) {
  for (const char* text : {"four", "-1", "4 ", "99999999999", "0x4", "4:"}) {
    EXPECT_NE(refusal(read_pod(with(kTorchrun, {{"PET_NNODES", text}}))), "(accepted)") << text;
    EXPECT_NE(refusal(read_pod(with(kRunAi, {{"WORLD_SIZE", text}}))), "(accepted)") << text;
  }
  for (const char* address : {"-oProxyCommand=x", "a b", "n1\n"}) {
    EXPECT_NE(refusal(read_pod(with(kRunAi, {{"MASTER_ADDR", address}}))), "(accepted)");
  }
  for (const char* port : {"0", "65536", "http"}) {
    EXPECT_NE(refusal(read_pod(with(kRunAi, {{"MASTER_PORT", port}}))), "(accepted)");
  }
  EXPECT_NE(refusal(read_pod(with(kTorchrun, {{"PET_NPROC_PER_NODE", "0"}}))), "(accepted)");
}

TEST(RanksOnEachPod, FollowTheUserOrTheEnvironment) {
  const Pod two{.count = 2, .rank = 1, .told_by = "WORLD_SIZE"};
  EXPECT_EQ(ranks_on_each(two, {}).value(), 0);
  EXPECT_EQ(ranks_on_each(two, {.pods = 2, .ranks_per_pod = 4, .rank = 1}).value(), 4);
  EXPECT_EQ(ranks_on_each(two, {.ranks = 6}).value(), 3);
  EXPECT_EQ(ranks_on_each(two, {.ranks = 8, .ranks_per_pod = 4}).value(), 4);
  const Pod told{.count = 2, .ranks_per_pod = 8, .told_by = "PET_NNODES"};
  EXPECT_EQ(ranks_on_each(told, {}).value(), 8);
  EXPECT_EQ(ranks_on_each(told, {.ranks = 16, .ranks_per_pod = 8}).value(), 8);
}

TEST(RanksOnEachPod, RefuseAContradictionWithBothNumbers) {
  const Pod two{.count = 2, .rank = 1, .told_by = "WORLD_SIZE"};
  const Pod told{.count = 2, .ranks_per_pod = 8, .told_by = "PET_NNODES"};
  const auto refused = [](const Pod& pod, const PodRequest& request) {
    const std::string text = refusal(ranks_on_each(pod, request));
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(refused(two, {.pods = 4}),
            "you asked for --nnodes 4, but WORLD_SIZE=2 is the number of pods of this job");
  EXPECT_EQ(
      refused(two, {.ranks = 5}),
      "you asked for -n 5, but WORLD_SIZE=2 is the number of pods of this job, which each have the "
      "same number of ranks");
  EXPECT_EQ(refused(two, {.ranks = 6, .ranks_per_pod = 4}),
            "you asked for -n 6, but WORLD_SIZE=2 is the number of pods of this job, with 4 ranks "
            "each: 8");
  EXPECT_EQ(refused(two, {.rank = 0}),
            "you asked for --node-rank 0, but RANK=1 is this pod's number");
  EXPECT_EQ(refused(told, {.ranks_per_pod = 4}),
            "you asked for --nproc-per-node 4, but PET_NPROC_PER_NODE=8");
}

}  // namespace
}  // namespace muster::hosts
