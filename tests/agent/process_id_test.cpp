#include <csignal>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "agent/record.hpp"

namespace {

int kills = 0;

}  // namespace

// Counts the calls, and takes the place of the C library's kill().
extern "C" int kill(pid_t pid, int signal) noexcept {
  ++kills;
  return static_cast<int>(::syscall(SYS_kill, pid, signal));
}

namespace muster::agent {
namespace {

TEST(ProcessId, OfOurselves) {
  const auto own = identify(::getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->pid, ::getpid());
  EXPECT_GT(own->start, 0U);
  EXPECT_TRUE(is_alive(*own));
  EXPECT_FALSE(is_alive({.pid = own->pid, .start = own->start + 1}));
}

TEST(ProcessId, NobodyThere) {
  EXPECT_FALSE(identify(0));
  EXPECT_FALSE(identify(-1));
  EXPECT_FALSE(identify(1 << 30));
  EXPECT_FALSE(is_alive({}));
}

TEST(ProcessId, NameWithBlanksAndParentheses) {
  const auto before = identify(::getpid());
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, "a) Z 1 (b) 2");
  const auto after = identify(::getpid());
  ::prctl(PR_SET_NAME, name);
  ASSERT_TRUE(after);
  EXPECT_EQ(before, after);
}

TEST(ProcessId, ZombieIsNotAlive) {
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  const auto process = identify(child);
  ASSERT_TRUE(process);
  EXPECT_TRUE(is_alive(*process));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(*process));
  EXPECT_FALSE(identify(child));
  ::waitpid(child, nullptr, 0);
}

// send_signal() must not call kill(): after it has checked the process, the number could be reused
// for another one.
TEST(SendSignal, GoesToTheProcessAndNotToItsNumber) {
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  const auto process = identify(child);
  ASSERT_TRUE(process);
  kills = 0;
  send_signal({.pid = child, .start = process->start + 1}, SIGKILL);
  EXPECT_TRUE(is_alive(*process));
  send_signal(*process, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(kills, 0);
}

}  // namespace
}  // namespace muster::agent
