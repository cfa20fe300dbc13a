#include "rankenv/rank.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::rankenv {
namespace {

void check(const Environment& environment, const Rank& expected) {
  const auto rank = read(environment);
  ASSERT_TRUE(rank) << to_text(rank.error());
  EXPECT_EQ(rank->rank, expected.rank);
  EXPECT_EQ(rank->size, expected.size);
  EXPECT_EQ(rank->local_rank, expected.local_rank);
  EXPECT_EQ(rank->local_size, expected.local_size);
  EXPECT_EQ(rank->host_rank, expected.host_rank);
  EXPECT_EQ(rank->host_count, expected.host_count);
  EXPECT_EQ(rank->told_by, expected.told_by);
  EXPECT_EQ(rank->under_agent, expected.under_agent);
}

std::string refused(const Environment& environment) {
  const auto rank = read(environment);
  if (rank) return "taken for rank " + std::to_string(rank->rank);
  EXPECT_EQ(rank.error().code, ErrorCode::kUsage);
  return rank.error().what;
}

Environment open_mpi(int rank, int size, int local_rank, int local_size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
          {"OMPI_COMM_WORLD_NODE_RANK", std::to_string(local_rank)},
          {"PMIX_RANK", std::to_string(rank)}};
}

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

const Environment kTorchrun = {{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"GROUP_RANK", "1"},
                               {"GROUP_WORLD_SIZE", "2"},
                               {"ROLE_RANK", "3"},
                               {"TORCHELASTIC_RUN_ID", "none"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "False"}};

const Environment kStep = {{"SLURM_PROCID", "4"},
                           {"SLURM_NTASKS", "5"},
                           {"SLURM_LOCALID", "0"},
                           {"SLURM_NODEID", "2"},
                           {"SLURM_STEP_NUM_TASKS", "5"},
                           {"SLURM_STEP_NUM_NODES", "3"},
                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}};

TEST(Rank, EachLaunchersVariables) {
  check(open_mpi(3, 4, 1, 2), {3, 4, 1, 2, 1, 2, "Open MPI"});
  check({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
        {1, 4, 1, 2, 0, 2, "PMI"});
  check({{"PMI_ID", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
        {1, 2, 1, 2, 0, 1, "PMI"});
  check(kStep, {4, 5, 0, 1, 2, 3, "Slurm"});
  check(kTorchrun, {3, 4, 1, 2, 1, 2, "torchrun", true});
  check({{"RANK", "1"}, {"WORLD_SIZE", "3"}}, {1, 3, 0, 1, 1, 3, "RANK"});
  check({{"PET_NODE_RANK", "1"}, {"PET_NNODES", "3"}, {"PET_NPROC_PER_NODE", "1"}},
        {1, 3, 0, 1, 1, 3, "PET"});
}

TEST(Rank, AloneIsRankZeroOfOne) {
  check({}, {0, 1, 0, 1, 0, 1, ""});
  check({{"RANK", ""}, {"PATH", "/bin"}}, {0, 1, 0, 1, 0, 1, ""});
}

// In a batch script, Slurm sets the number of tasks of the allocation, although no task was
// started.
TEST(Rank, BatchScriptIsAlone) {
  check({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}},
        {0, 1, 0, 1, 0, 1, ""});
}

TEST(Rank, HostIsUnknownWhereRanksAreNotInBlocks) {
  check(open_mpi(2, 4, 1, 2), {2, 4, 1, 2, std::nullopt, std::nullopt, "Open MPI"});
  check(open_mpi(2, 3, 0, 2), {2, 3, 0, 2, std::nullopt, std::nullopt, "Open MPI"});
}

TEST(Rank, LauncherBeatsWhatIsLeftOver) {
  check(with(open_mpi(1, 2, 1, 2), {{"RANK", "7"}, {"WORLD_SIZE", "x"}, {"LOCAL_RANK", "7"}}),
        {1, 2, 1, 2, 0, 1, "Open MPI"});
}

// If a program in a muster job starts another job, it passes on the variables that the shim set.
TEST(Rank, ShimsOwnVariablesAreNotTorchruns) {
  Environment outer;
  for (const auto& [name, value] : variables({.rank = 5, .size = 8, .host_rank = 0}, "outer")) {
    if (value) outer[name] = *value;
  }
  check(with(open_mpi(1, 2, 1, 2), outer), {1, 2, 1, 2, 0, 1, "Open MPI"});
}

TEST(Rank, InnermostLauncherWins) {
  check(with(kTorchrun, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}),
        {3, 4, 1, 2, 1, 2, "torchrun", true});
  check(with(kTorchrun, open_mpi(1, 2, 0, 1)), {3, 4, 1, 2, 1, 2, "torchrun", true});
  // srun started one prted per host.
  check(with(open_mpi(3, 4, 1, 2), {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}),
        {3, 4, 1, 2, 1, 2, "Open MPI"});
  // The same at a site where srun uses pmi2 by default.
  check(with(open_mpi(3, 4, 1, 2),
             {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "1"}}),
        {3, 4, 1, 2, 1, 2, "Open MPI"});
}

TEST(Rank, StepTellsWhatPmiDoesNot) {
  check(with(kStep, {{"PMI_RANK", "4"}, {"PMI_SIZE", "5"}}), {4, 5, 0, 1, 2, 3, "PMI"});
  check(with(kStep, {{"PMIX_RANK", "4"}}), {4, 5, 0, 1, 2, 3, "Slurm"});
}

TEST(Rank, ContradictionsNameBoth) {
  EXPECT_EQ(refused(with(open_mpi(1, 2, 1, 2), {{"PMIX_RANK", "0"}})),
            "OMPI_COMM_WORLD_RANK=1 contradicts PMIX_RANK=0");
  EXPECT_EQ(refused(with(open_mpi(1, 2, 1, 2), {{"PMI_RANK", "0"}})),
            "OMPI_COMM_WORLD_RANK=1 contradicts PMI_RANK=0");
  EXPECT_EQ(refused({{"PMI_RANK", "1"}, {"PMI_ID", "2"}}), "PMI_RANK=1 contradicts PMI_ID=2");
  EXPECT_EQ(refused(with(kStep, {{"PMIX_RANK", "1"}})), "SLURM_PROCID=4 contradicts PMIX_RANK=1");
  EXPECT_EQ(refused(open_mpi(2, 2, 0, 1)),
            "OMPI_COMM_WORLD_RANK=2 contradicts OMPI_COMM_WORLD_SIZE=2");
  EXPECT_EQ(refused(open_mpi(1, 2, 2, 2)),
            "OMPI_COMM_WORLD_LOCAL_RANK=2 contradicts OMPI_COMM_WORLD_LOCAL_SIZE=2");
  EXPECT_EQ(refused(open_mpi(1, 2, 1, 3)),
            "OMPI_COMM_WORLD_LOCAL_SIZE=3 contradicts OMPI_COMM_WORLD_SIZE=2");
}

TEST(Rank, RefusesWhatIsNoNumber) {
  for (const char* bad :
       {"-1", "1x", "x", " 1", "99999999999999999999", "0x1", "1\n", "200000000"}) {
    EXPECT_NE(refused({{"PMI_RANK", bad}, {"PMI_SIZE", "1"}}).find("not a number"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(refused({{"PMI_RANK", "\x1b[2J"}}), "PMI_RANK='?[2J' is not a number of ranks");
  // A size of zero would lead to a division by zero.
  EXPECT_NE(refused(open_mpi(0, 0, 0, 0)).find("contradicts"), std::string::npos);
  EXPECT_NE(refused({{"PMI_RANK", "0"},
                     {"PMI_SIZE", "1"},
                     {"MPI_LOCALNRANKS", "0"},
                     {"MPI_LOCALRANKID", "0"}})
                .find("contradicts"),
            std::string::npos);
}

TEST(Rank, RefusesHalfAStory) {
  EXPECT_NE(refused({{"PMIX_RANK", "1"}}).find("number of ranks"), std::string::npos);
  EXPECT_NE(refused({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).find("this host"), std::string::npos);
  EXPECT_NE(refused({{"PET_NODE_RANK", "0"}, {"PET_NPROC_PER_NODE", "auto"}}).find("which one"),
            std::string::npos);
}

TEST(Rank, OddTasksPerNodeNeverCrash) {
  for (const char* odd : {"2(x", "(x2)", "2(x2", "2(xx)", ",", "2(x-1),3", "2(x0)", "2;3",
                          "99999999999", "-5", "2(x2)1"}) {
    auto environment = kStep;
    environment["SLURM_STEP_TASKS_PER_NODE"] = odd;
    (void)read(environment);  // either result is fine if it returns at all
  }
}

TEST(Variables, WhatTorchLooksFor) {
  const auto all = variables({3, 4, 1, 2, 1, 2, "PMI"}, "r1");
  const Environment expected =
      with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "muster:r1"}, {"TORCHELASTIC_RESTART_COUNT", "0"}});
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(all.contains(name)) << name;
    EXPECT_EQ(all.at(name), value) << name;
  }
}

TEST(Variables, UnknownHostIsUnset) {
  const auto all = variables({2, 4, 1, 2, std::nullopt, std::nullopt, "Open MPI"}, "");
  EXPECT_EQ(all.at("GROUP_RANK"), std::nullopt);
  EXPECT_EQ(all.at("GROUP_WORLD_SIZE"), std::nullopt);
}

TEST(Read, AHostThatContradictsTheNumberOfHostsIsNotGuessed) {
  const auto rank = read({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"GROUP_WORLD_SIZE", "2"}});
  ASSERT_TRUE(rank) << to_text(rank.error());
  EXPECT_EQ(rank->host_rank, std::nullopt);
  EXPECT_EQ(rank->host_count, 2);
}

TEST(Read, AJobOnNoHostIsRefused) {
  const auto rank = read({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"GROUP_WORLD_SIZE", "0"}});
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().what, "RANK=2 contradicts GROUP_WORLD_SIZE=0");
}

TEST(Variables, TorchrunsOwnAreLeftAloneButForTheNumbers) {
  const auto set = variables({.rank = 3, .size = 6, .host_rank = 1, .under_agent = true}, "r1");
  const std::map<std::string, std::optional<std::string>> expected = {
      {"RANK", "3"}, {"ROLE_RANK", "3"}, {"GROUP_RANK", "1"}};
  EXPECT_EQ(set, expected);
}

}  // namespace
}  // namespace muster::rankenv
