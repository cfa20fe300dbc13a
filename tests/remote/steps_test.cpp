#include "remote/steps.hpp"

#include <gtest/gtest.h>

#include "sys/quote.hpp"

namespace muster::remote {
namespace {

TEST(StepWords, AreACommandOnOneHostBesideTheRanks) {
  EXPECT_EQ(sys::quote(step_words("42", "n2", "exec /tmp/m agent")),
            "srun --jobid 42 --overlap --overcommit -N1 -n1 --ntasks-per-node=1 "
            "-w n2 --distribution=block --cpu-bind=none --mpi=none --export=ALL --chdir=/ -- "
            "/bin/sh -c 'exec /tmp/m agent'");
}

SessionEnd end(int code, const std::string& err) {
  return understand_step("42", "n2", {.code = code, .out = {}, .err = err});
}

TEST(UnderstandStep, ACommandsOwnEndIsTakenAsItIs) {
  EXPECT_EQ(end(0, "").ended->code, 0);
  EXPECT_EQ(end(97, "srun: error: n2: task 0: Exited with exit code 97\n").ended->code, 97);
  EXPECT_EQ(end(5, "its own words\n").ended->code, 5);
}

TEST(UnderstandStep, AStepThatDidNotBeginIsAHostNotReached) {
  const auto failed = end(1,
                          "srun: warning: something\n"
                          "srun: error: Unable to create step for job 42: Invalid job id\n");
  ASSERT_FALSE(failed.ended);
  EXPECT_EQ(failed.ended.error().code, ErrorCode::kUnreachable);
  EXPECT_EQ(failed.ended.error().cause->what,
            "error: Unable to create step for job 42: Invalid job id");
}

}  // namespace
}  // namespace muster::remote
