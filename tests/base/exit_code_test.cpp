#include "base/exit_code.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ExitCode, OfAFailedExecIsThatOfAShell) {
  EXPECT_EQ(exit_code_of_exec(ENOENT), 127);
  EXPECT_EQ(exit_code_of_exec(EACCES), 126);
  EXPECT_EQ(exit_code_of_exec(ENOEXEC), 126);
  EXPECT_EQ(exit_code_of_exec(E2BIG), 126);
}

// Users' scripts depend on these numbers.
TEST(ExitCode, NumbersDoNotChange) {
  EXPECT_EQ(kExitTimedOut, 124);
  EXPECT_EQ(kExitOwnFault, 125);
  EXPECT_EQ(kExitCannotRun, 126);
  EXPECT_EQ(kExitNotFound, 127);
}

}  // namespace
}  // namespace muster
