#include "hosts/allocation.hpp"

#include <gtest/gtest.h>

namespace muster::hosts {
namespace {

using Variables = std::map<std::string, std::string>;

// Formats the allocation. "7: a:2 b" is job 7 with the hosts a (2 slots) and b (unknown slots).
std::string allocated(const Variables& environment) {
  const auto allocation = read_allocation(environment);
  if (!allocation) return to_text(allocation.error());
  if (!*allocation) return "none";
  std::string line = (*allocation)->job + ":";
  for (const Host& host : (*allocation)->hosts) {
    line += " " + host.name;
    if (host.slots > 0) line += ":" + std::to_string(host.slots);
  }
  return line;
}

Variables job(const std::string& hosts, const std::string& tasks) {
  return {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", hosts}, {"SLURM_TASKS_PER_NODE", tasks}};
}

TEST(Allocation, OutsideOfOneThereIsNone) {
  EXPECT_EQ(allocated({}), "none");
  EXPECT_EQ(allocated({{"SLURM_JOB_ID", ""}}), "none");
  EXPECT_EQ(allocated({{"SLURM_CONF", "/etc/slurm/slurm.conf"}}), "none");
}

TEST(Allocation, GivesHostsWithTheTasksThatWereAskedFor) {
  EXPECT_EQ(allocated(job("n[1-3]", "2(x3)")), "7: n1:2 n2:2 n3:2");
  EXPECT_EQ(allocated(job("n[1-3]", "2(x2),1")), "7: n1:2 n2:2 n3:1");
  EXPECT_EQ(allocated(job("gpu[08-10],big", "8,4(x2),1")), "7: gpu08:8 gpu09:4 gpu10:4 big:1");
  EXPECT_EQ(allocated(job("n1", "16")), "7: n1:16");
}

TEST(Allocation, KnowsTheOlderNames) {
  EXPECT_EQ(allocated({{"SLURM_JOBID", "12"}, {"SLURM_NODELIST", "a,b"}}), "12: a b");
}

TEST(Allocation, InAShellOnAHostTheTasksAreTheShells) {
  Variables shell = job("n[1-3]", "1");
  shell["SLURM_STEP_ID"] = "0";
  shell["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(allocated(shell), "7: n1 n2 n3");
}

TEST(Allocation, RefusesToBeStartedSeveralTimes) {
  Variables step = job("n[1-3]", "2(x3)");
  step["SLURM_STEP_NUM_TASKS"] = "6";
  EXPECT_EQ(allocated(step),
            "srun started muster SLURM_STEP_NUM_TASKS=6 times\n"
            "  hint: start muster once, without srun: it starts the ranks itself");
  step["SLURM_STEP_NUM_TASKS"] = "6\x1b[2J";
  EXPECT_TRUE(
      allocated(step).starts_with("srun started muster SLURM_STEP_NUM_TASKS=6?[2J times\n"));
}

TEST(Allocation, NamesTheVariableThatMakesNoSense) {
  EXPECT_EQ(allocated({{"SLURM_JOB_ID", "7; rm"}, {"SLURM_JOB_NODELIST", "n1"}}),
            "SLURM_JOB_ID:1:1: '7; rm' is not the number of a job\n"
            "  hint: Slurm sets this variable; unset it outside an allocation");
  EXPECT_EQ(allocated({{"SLURM_JOB_ID", "7"}}),
            "the variable SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not\n"
            "  hint: outside an allocation, unset SLURM_JOB_ID");
  EXPECT_EQ(allocated(job("n[1-", "1")).substr(0, 23), "SLURM_JOB_NODELIST:1:2:");
  EXPECT_EQ(allocated(job("n[1-3]", "2(x2)")),
            "SLURM_TASKS_PER_NODE:1:1: this describes 2 hosts, but the allocation has 3");
  EXPECT_EQ(allocated(job("n[1-3]", "2(x2),1(x999999)")),
            "SLURM_TASKS_PER_NODE:1:7: this describes more hosts than the 3 of the allocation");
  EXPECT_EQ(allocated(job("n[1-3]", "2(x3")), "SLURM_TASKS_PER_NODE:1:2: '(x' without its ')'");
  EXPECT_EQ(allocated(job("n1", "0")),
            "SLURM_TASKS_PER_NODE:1:1: '0' is not a number of tasks\n"
            "  hint: write a number from 1 to 1000000");
  EXPECT_EQ(allocated(job("n[1-2]", "1,")).substr(0, 26), "SLURM_TASKS_PER_NODE:1:3: ");
}

}  // namespace
}  // namespace muster::hosts
