#include "launch/job_state.hpp"

#include <gtest/gtest.h>

namespace muster::launch {
namespace {

// From Slurm 22.05, shortened.
constexpr std::string_view kFailed =
    "JobId=3 JobName=sh UserId=dev(1001) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) "
    "Requeue=1 ExitCode=127:0 RunTime=00:00:01 BatchHost=n1 NumNodes=2 Command=/srv/x.sbatch";

TEST(JobState, IsReadFromWhatSlurmPrints) {
  const JobState job = parse_job_state(kFailed);
  EXPECT_EQ(job.state, "FAILED");
  EXPECT_EQ(job.reason, "NonZeroExitCode");
  EXPECT_EQ(job.host, "n1");
  EXPECT_EQ(job.exit_code, 127);
}

TEST(JobState, IsEmptyWhereSlurmSaysNothing) {
  for (const std::string_view text :
       {"", "slurm_load_jobs error: Invalid job id specified", "JobState", "XJobState=FAILED"}) {
    EXPECT_EQ(parse_job_state(text).state, "") << text;
    EXPECT_EQ(prospect(parse_job_state(text)), Prospect::kUnknown) << text;
  }
}

TEST(Prospect, OfAJobThatCannotRunItsCommandIsBroken) {
  EXPECT_EQ(prospect(parse_job_state(kFailed)), Prospect::kBroken);
  EXPECT_EQ(prospect({.state = "FAILED", .exit_code = 126}), Prospect::kBroken);
  // 3 is an exit code of the job's own program, so its command did run.
  EXPECT_EQ(prospect({.state = "FAILED", .exit_code = 3}), Prospect::kGood);
}

TEST(Prospect, OfAWaitingJobDependsOnWhatItWaitsFor) {
  EXPECT_EQ(prospect({.state = "PENDING", .reason = "PartitionNodeLimit"}), Prospect::kNever);
  EXPECT_EQ(prospect({.state = "PENDING", .reason = "Resources"}), Prospect::kGood);
  EXPECT_EQ(prospect({.state = "PENDING", .reason = "Priority"}), Prospect::kGood);
  EXPECT_EQ(prospect({.state = "PENDING", .reason = "None"}), Prospect::kUnknown);
}

TEST(Prospect, OfARunningJobIsNotKnownYet) {
  EXPECT_EQ(prospect({.state = "RUNNING"}), Prospect::kUnknown);
  EXPECT_EQ(prospect({.state = "COMPLETED"}), Prospect::kGood);
}

}  // namespace
}  // namespace muster::launch
