#include <algorithm>

#include <gtest/gtest.h>

#include "launch/engine_plans.hpp"
#include "launch/three_hosts.hpp"

namespace muster::launch {
namespace {

using Words = std::vector<std::string>;

layout::Job job() {
  return three_hosts_job();
}

layout::Layout three_hosts(const std::string& mpi, const std::string& pmi) {
  return three_hosts_layout(
      {.kind = "slurm", .version = {}, .major = 0, .launcher = "srun", .mpi = mpi, .pmi = pmi});
}

Means means() {
  Means means = three_hosts_means({});
  means.allocation = "42";
  return means;
}

bool has(const Plan& plan, const std::string& word) {
  const Words& argv = plan.commands[0].argv;
  return std::find(argv.begin(), argv.end(), word) != argv.end();
}

bool sets(const Plan& plan, const std::string& entry) {
  return std::find(plan.env.begin(), plan.env.end(), entry) != plan.env.end();
}

TEST(Slurm, AnOpenMpiProgramIsAStepWithPmix) {
  const auto plan = plan_slurm(job(), three_hosts("openmpi", "pmix"), means());
  ASSERT_TRUE(plan);
  const std::string expected =
      "srun --quiet --jobid 42 --overlap --overcommit -N 3 -n 6 --ntasks-per-node=2 -w n1,n2,n3 "
      "--distribution=block --mpi=pmix --input=0 --cpu-bind=none --kill-on-bad-exit=1 "
      "--export=ALL /tmp/muster-1000/abc/muster rank " +
      rank_words();
  ASSERT_EQ(plan->commands.size(), 1U);
  EXPECT_EQ(line_of(plan->commands[0]), expected);
  EXPECT_TRUE(plan->commands[0].host.empty() && plan->commands[0].input);
  EXPECT_EQ(plan->env,
            (Words{"OMP_NUM_THREADS=4", "MUSTER_FORWARD=NCCL_DEBUG",
                   "MUSTER_DEFAULT=OMP_NUM_THREADS", "OMPI_MCA_btl_tcp_if_include=198.18.0.0/16"}));
  EXPECT_TRUE(plan->files.empty());
  EXPECT_TRUE(plan->notes.empty());
  EXPECT_TRUE(plan->term_kills_ranks);
}

TEST(Slurm, MpichAndIntelMeetItOverPmi2) {
  const auto mpich = plan_slurm(job(), three_hosts("mpich", "pmi2"), means());
  EXPECT_TRUE(has(*mpich, "--mpi=pmi2"));
  EXPECT_FALSE(sets(*mpich, "I_MPI_PIN=0"));
  auto layout = three_hosts("intel", "pmi2");
  layout.oversubscribed = true;
  const auto intel = plan_slurm(job(), layout, means());
  EXPECT_TRUE(has(*intel, "--mpi=pmi2"));
  EXPECT_TRUE(sets(*intel, "I_MPI_PMI_LIBRARY=libpmi2.so.0"));
  EXPECT_TRUE(sets(*intel, "I_MPI_PIN=0"));
  EXPECT_TRUE(sets(*intel, "I_MPI_THREAD_YIELD=2"));
}

TEST(Slurm, AnUnknownProgramGetsWhatTheSiteHas) {
  const auto plan = plan_slurm(job(), three_hosts("", ""), means());
  for (const std::string& word : plan->commands[0].argv) EXPECT_FALSE(word.starts_with("--mpi"));
}

TEST(Slurm, UnequalNumbersOfRanksGoIntoAFile) {
  auto layout = three_hosts("", "");
  layout.placements[2].ranks = 1;
  layout.ranks = 5;
  const auto plan = plan_slurm(job(), layout, means());
  EXPECT_EQ(plan->files, (std::vector<PlanFile>{{.path = "/home/dev/runs/r1/hosts",
                                                 .content = "n1\nn1\nn2\nn2\nn3\n"}}));
  EXPECT_TRUE(sets(*plan, "SLURM_HOSTFILE=/home/dev/runs/r1/hosts"));
  EXPECT_TRUE(has(*plan, "--distribution=arbitrary"));
  EXPECT_FALSE(has(*plan, "-w"));
}

TEST(Slurm, AFlagGivenToTheEngineIsNotGivenTwice) {
  auto with_args = job();
  with_args.engine_args = {"--mpi=pmi2", "-K0", "--cpu-bind", "cores"};
  const auto plan = plan_slurm(with_args, three_hosts("openmpi", "pmix"), means());
  EXPECT_FALSE(has(*plan, "--mpi=pmix"));
  EXPECT_FALSE(has(*plan, "--cpu-bind=none"));
  EXPECT_TRUE(has(*plan, "--mpi=pmi2"));
  EXPECT_EQ(plan->notes.size(), 2U);
}

TEST(Slurm, LeavesBindingToGpusToTheRanks) {
  auto layout = three_hosts("", "");
  layout.bind_to = "gpu";
  EXPECT_TRUE(has(*plan_slurm(job(), layout, means()), "--cpu-bind=none"));
}

TEST(Slurm, BindingAndMappingAreTheUsersWords) {
  auto layout = three_hosts("", "");
  layout.bind_to = "cores";
  layout.map_by = "cyclic";
  const auto plan = plan_slurm(job(), layout, means());
  EXPECT_TRUE(has(*plan, "--cpu-bind=cores"));
  EXPECT_TRUE(has(*plan, "--distribution=cyclic"));
}

TEST(Slurm, NeedsAnAllocation) {
  Means outside = means();
  outside.allocation.clear();
  EXPECT_FALSE(plan_slurm(job(), three_hosts("", ""), outside));
}

}  // namespace
}  // namespace muster::launch
