#include "sys/process_stat.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::sys {
namespace {

// Returns a line in Linux 6.1's format, for a process with this name and state.
std::string line(const std::string& name, char state = 'S') {
  return "4711 (" + name + ") " + state +
         " 812 4711 812 34816 4711 4194304 950 1200 0 3 250 50 7 9 20 0 1 0 123456789 5836800 "
         "1024 18446744073709551615 1 1 0 0 0 0 0 4096 65536 1 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 "
         "0\n";
}

TEST(ProcessStat, ReadsStateParentAndTimes) {
  const ProcessStat expected{
      .state = 'S', .parent = 812, .cpu_ticks = 300, .start_ticks = 123456789};
  EXPECT_EQ(parse_process_stat(line("python3")), expected);
}

TEST(ProcessStat, TellsWhetherItExits) {
  std::string text = line("python3");
  EXPECT_FALSE(parse_process_stat(text).value().exiting);
  // Flags of a process that is exiting because of a signal.
  text.replace(text.find(" 4194304 "), 9, " 4195340 ");
  EXPECT_TRUE(parse_process_stat(text).value().exiting);
}

TEST(ProcessStat, NameMayContainAnything) {
  const auto plain = parse_process_stat(line("python3"));
  ASSERT_TRUE(plain);
  for (const char* name : {"", "tmux: server", "(sd-pam)", "a) Z 1 (b) 2", ") ", "a\nb", "))) R"}) {
    EXPECT_EQ(parse_process_stat(line(name)), plain) << name;
  }
}

TEST(ProcessStat, EndedMeansZombieOrDead) {
  for (const char state : {'Z', 'X', 'x'}) {
    EXPECT_TRUE(parse_process_stat(line("sh", state)).value().ended()) << state;
  }
  for (const char state : {'R', 'S', 'D', 'T', 't', 'I'}) {
    EXPECT_FALSE(parse_process_stat(line("sh", state)).value().ended()) << state;
  }
}

TEST(ProcessStat, RefusesAnyOtherText) {
  const std::string whole = line("sh");
  const std::size_t start = whole.find("123456789");
  EXPECT_TRUE(parse_process_stat(whole.substr(0, start + 9)));
  for (std::size_t length = 0; length <= start; ++length) {
    EXPECT_FALSE(parse_process_stat(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(
      parse_process_stat("4711 (sh) S parent 4711 812 34816 4711 4194304 950 1200 0 3 250 "
                         "50 7 9 20 0 1 0 123456789 5836800"));
}

TEST(ProcessStat, OfThisProcess) {
  const auto before = read_process_stat(::getpid());
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, "a) Z 1 (b) 2");
  const auto after = read_process_stat(::getpid());
  ::prctl(PR_SET_NAME, name);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->parent, ::getppid());
  EXPECT_EQ(after->start_ticks, before->start_ticks);
  EXPECT_GT(after->start_ticks, 0U);
  EXPECT_FALSE(after->ended());
}

TEST(ProcessStat, NobodyThere) {
  for (const pid_t pid : {0, -1, 1 << 30}) EXPECT_FALSE(read_process_stat(pid)) << pid;
}

TEST(ProcessStat, ZombieHasEndedAndIsStillThere) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto stat = read_process_stat(child);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->ended());
  EXPECT_EQ(stat->parent, ::getpid());
}

}  // namespace
}  // namespace muster::sys
