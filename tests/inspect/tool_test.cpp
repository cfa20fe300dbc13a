#include "inspect/tool.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/process_stat.hpp"

namespace muster::inspect {
namespace {

constexpr std::chrono::minutes kMinute(1);

ToolAnswer run_patiently(const std::vector<std::string>& argv) {
  return run_tool(argv, kMinute, Clock::now() + kMinute);
}

// A shell that behaves like a hung debugger such as eu-stack: it stops the process and does not
// end.
std::vector<std::string> stops_and_hangs(pid_t pid) {
  return {"/bin/sh", "-c", "kill -STOP " + std::to_string(pid) + "; exec sleep 1000"};
}

char state_of_process(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  return stat ? stat->state : 'X';
}

// Waits until the process is in this state. The limit is so long that only a hang reaches it.
bool comes_to_state(pid_t pid, char state) {
  for (int i = 0; i < 30000 && state_of_process(pid) != state; ++i) ::usleep(2000);
  return state_of_process(pid) == state;
}

class Waiting {
 public:
  Waiting() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(Tool, GivesItsOutput) {
  const ToolAnswer answer = run_patiently({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_TRUE(answer.started);
  EXPECT_FALSE(answer.timed_out);
  EXPECT_EQ(WEXITSTATUS(answer.status), 3);
  EXPECT_EQ(answer.out, "out\n");
  EXPECT_EQ(answer.err, "err\n");
}

TEST(Tool, IsKilledAtTheDeadline) {
  const auto begin = Clock::now();
  const ToolAnswer answer = run_tool({"/bin/sh", "-c", "echo $$; exec sleep 1000"},
                                     std::chrono::milliseconds(300), begin + kMinute);
  EXPECT_TRUE(answer.timed_out);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(100));
  if (!answer.out.empty()) {
    EXPECT_NE(::kill(std::stoi(answer.out), 0), 0);
  }
}

TEST(Tool, ThatIsKilledLeavesNoProcessStopped) {
  const Waiting rank;
  const auto soon = std::chrono::milliseconds(500);
  const ToolAnswer answer =
      run_attached(stops_and_hangs(rank.pid()), rank.pid(), soon, Clock::now() + kMinute);
  EXPECT_TRUE(answer.timed_out);
  EXPECT_TRUE(comes_to_state(rank.pid(), 'S'));
}

TEST(Tool, ThatFailsLeavesAStoppedProcessStopped) {
  const Waiting rank;
  ::kill(rank.pid(), SIGSTOP);
  ASSERT_TRUE(comes_to_state(rank.pid(), 'T'));
  (void)run_attached({"/bin/sh", "-c", "exit 1"}, rank.pid(), kMinute, Clock::now() + kMinute);
  EXPECT_EQ(state_of_process(rank.pid()), 'T');
}

TEST(Tool, TheEndOfAllMakesTheirProcessesContinue) {
  const Waiting rank;
  // In a separate process, because end_tools() also prevents later calls of its process from
  // starting tools.
  const pid_t inspector = ::fork();
  if (inspector == 0) {
    std::thread([&] {
      (void)run_attached(stops_and_hangs(rank.pid()), rank.pid(), kMinute, Clock::now() + kMinute);
    }).detach();
    const bool was_stopped = comes_to_state(rank.pid(), 'T');
    end_tools();
    const bool starts_no_more = !run_patiently({"/bin/true"}).started;
    ::_exit(was_stopped && starts_no_more ? 0 : 1);
  }
  int status = -1;
  ::waitpid(inspector, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(comes_to_state(rank.pid(), 'S'));
}

TEST(Tool, IsBoundedInItsOutput) {
  const ToolAnswer answer = run_patiently({"/bin/sh", "-c", "head -c 3000000 /dev/zero"});
  EXPECT_FALSE(answer.timed_out);
  EXPECT_EQ(answer.out.size(), std::size_t{1} << 20);
}

TEST(Tool, FailuresAreExplained) {
  EXPECT_EQ(tool_failure("eu-stack", run_patiently({"/nonexistent"})),
            "eu-stack could not be started");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .timed_out = true}),
            "eu-stack did not finish in time");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .err = "x: Operation not permitted\n"}),
            kPtraceDenied);
  EXPECT_EQ(tool_failure("py-spy", {.started = true, .err = "Permission Denied: Try running"}),
            kPtraceDenied);
  EXPECT_EQ(tool_failure("eu-stack", {.started = true, .err = " a\x1b[1m\nb"}), "eu-stack: a?[1m");
  EXPECT_EQ(tool_failure("eu-stack", {.started = true}), "eu-stack printed none");
  EXPECT_EQ(tool_failure("py-spy", {.timed_out = true}), "no time was left for py-spy");
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
  ::chmod(folder.c_str(), 0755);
  std::filesystem::create_directories(folder + "/others/bin");
  std::ofstream(folder + "/others/bin/py-spy") << "#!/bin/sh\n";
  ::chmod((folder + "/others/bin/py-spy").c_str(), 0755);
  std::filesystem::create_symlink("others/bin", folder + "/link");
  EXPECT_TRUE(is_trusted_program(folder + "/link/py-spy"));
  ::chmod((folder + "/others").c_str(), 0777);  // only the link's target is below this folder
  EXPECT_FALSE(is_trusted_program(folder + "/link/py-spy"));
  if (::geteuid() == 0) {
    ::chmod(folder.c_str(), 0755);
    ASSERT_EQ(::chown(tool.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(is_trusted_program(tool));
    ASSERT_EQ(::chown(tool.c_str(), 0, 65534), 0);
    EXPECT_TRUE(is_trusted_program(tool));
    ::chmod(tool.c_str(), 0775);
    EXPECT_FALSE(is_trusted_program(tool));
    ASSERT_EQ(::chown(tool.c_str(), 0, 0), 0);
    EXPECT_TRUE(is_trusted_program(tool));
  }
  EXPECT_FALSE(is_trusted_program("py-spy"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::inspect
