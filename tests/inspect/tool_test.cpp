#include "inspect/tool.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::inspect {
namespace {

Deadline in_a_minute() {
  return Clock::now() + std::chrono::minutes(1);
}

TEST(Tool, GivesItsOutput) {
  const ToolAnswer answer =
      run_tool({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, in_a_minute());
  EXPECT_TRUE(answer.started);
  EXPECT_FALSE(answer.timed_out);
  EXPECT_EQ(WEXITSTATUS(answer.status), 3);
  EXPECT_EQ(answer.out, "out\n");
  EXPECT_EQ(answer.err, "err\n");
}

TEST(Tool, IsKilledAtTheDeadline) {
  const auto begin = Clock::now();
  const ToolAnswer answer = run_tool({"/bin/sh", "-c", "echo $$; exec sleep 1000"},
                                     begin + std::chrono::milliseconds(300));
  EXPECT_TRUE(answer.timed_out);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(100));
  if (!answer.out.empty()) EXPECT_NE(::kill(std::stoi(answer.out), 0), 0);
}

TEST(Tool, IsBoundedInItsOutput) {
  const ToolAnswer answer = run_tool({"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, in_a_minute());
  EXPECT_FALSE(answer.timed_out);
  EXPECT_EQ(answer.out.size(), std::size_t{1} << 20);
}

TEST(Tool, FailuresAreExplained) {
  EXPECT_EQ(tool_failure("eu-stack", run_tool({"/nonexistent"}, in_a_minute())),
            "eu-stack could not be started");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .timed_out = true}),
            "eu-stack did not finish in time");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .err = "x: Operation not permitted\n"}),
            kPtraceDenied);
  EXPECT_EQ(tool_failure("py-spy", {.started = true, .err = "Permission Denied: Try running"}),
            kPtraceDenied);
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .err = " a\x1b[1m\nb"}), "eu-stack: a?[1m");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true}), "eu-stack printed none");
}

TEST(Tool, IsTrustedOnlyIfNobodyElseCanChangeIt) {
  std::string name = testing::TempDir() + "toolXXXXXX";
  const std::string folder = ::mkdtemp(name.data());
  const std::string tool = folder + "/py-spy";
  EXPECT_FALSE(is_trusted_program(tool));
  std::ofstream(tool) << "#!/bin/sh\n";
  ::chmod(tool.c_str(), 0600);
  EXPECT_FALSE(is_trusted_program(tool));
  ::chmod(tool.c_str(), 0755);
  EXPECT_TRUE(is_trusted_program(tool));
  ::chmod(tool.c_str(), 0757);
  EXPECT_FALSE(is_trusted_program(tool));
  ::chmod(tool.c_str(), 0755);
  ::chmod(folder.c_str(), 0777);
  EXPECT_FALSE(is_trusted_program(tool));
  if (::geteuid() == 0) {
    ::chmod(folder.c_str(), 0755);
    ASSERT_EQ(::chown(tool.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(is_trusted_program(tool));
  }
  EXPECT_FALSE(is_trusted_program("py-spy"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::inspect
