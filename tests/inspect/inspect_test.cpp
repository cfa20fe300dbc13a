#include "inspect/inspect.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/processes.hpp"
#include "sys/path_search.hpp"

namespace muster::inspect {
namespace {

using namespace std::chrono_literals;

// A child process that does one thing until the end of the test.
class Child {
 public:
  // `work` runs after fork(), so it may only make system calls.
  explicit Child(const std::function<void()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    work();
    ::_exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void sleep_for_ever() {
  while (true) ::pause();
}

// Waits until the condition is true. The limit is so long that only a hang reaches it.
bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 30000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

bool waits_in_call(pid_t pid, const std::string& start) {
  return call_words(pid, look_at_call(pid), waiting_place(pid)).starts_with(start);
}

char state_of(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  return stat ? stat->state : 'X';
}

RankView inspect_one(std::vector<pid_t> pids, Request request) {
  request.ranks = {{.rank = 5, .pids = std::move(pids)}};
  request.patience = 20;  // generous, so that other load on the machine does not fail a test
  const HostView view = inspect(request);
  EXPECT_EQ(view.ranks.size(), 1U);
  return view.ranks.at(0);
}

RankView look_at(std::vector<pid_t> pids) {
  return inspect_one(std::move(pids), {.window = 100ms, .deadline = 60s});
}

class InspectFolder : public testing::Test {
 protected:
  InspectFolder() {
    std::string name = testing::TempDir() + "inspectXXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~InspectFolder() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(InspectFolder, TellsWhoHasALock) {
  const std::string file = path_ + "/lock";
  const sys::Fd held(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const Child child([&] {
    const int own = ::open(file.c_str(), O_RDWR);
    ::flock(own, LOCK_EX);
  });
  if (!becomes_true([&] { return waits_in_call(child.pid(), "lock of "); })) FAIL();
  const RankView view = look_at({child.pid()});
  EXPECT_EQ(view.rank, 5);
  EXPECT_EQ(view.pid, child.pid());
  ASSERT_EQ(view.processes.size(), 1U);
  EXPECT_EQ(view.processes[0].state, "S");
  EXPECT_EQ(view.processes[0].parent, ::getpid());
  EXPECT_FALSE(view.processes[0].command.empty());
  if (!look_at_call(child.pid()).denied) {
    EXPECT_EQ(view.processes[0].call,
              "lock of " + file + ", held by process " + std::to_string(::getpid()));
  }
  EXPECT_FALSE(view.recorded);
  EXPECT_TRUE(view.watched);
}

TEST_F(InspectFolder, TellsAReadOfAFifo) {
  const std::string fifo = path_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Child child([&] {
    const int own = ::open(fifo.c_str(), O_RDWR);
    char byte = 0;
    (void)!::read(own, &byte, 1);
  });
  if (!becomes_true([&] { return waits_in_call(child.pid(), "read of "); })) FAIL();
  const RankView view = look_at({child.pid()});
  ASSERT_EQ(view.processes.size(), 1U);
  EXPECT_TRUE(view.processes[0].call.starts_with("read of ")) << view.processes[0].call;
  if (!look_at_call(child.pid()).denied) {
    EXPECT_EQ(view.processes[0].call, "read of " + fifo);
  }
}

TEST(Inspect, TellsStatesOfAllProcesses) {
  const Child sleeps([] { ::poll(nullptr, 0, -1); });
  const Child spins([] {
    volatile bool always = true;
    while (always) {
    }
  });
  const Child ended([] {});
  const Child stopped([] { sleep_for_ever(); });
  ::kill(stopped.pid(), SIGSTOP);
  ASSERT_TRUE(becomes_true([&] { return state_of(stopped.pid()) == 'T'; }));
  ASSERT_TRUE(becomes_true([&] { return state_of(ended.pid()) == 'Z'; }));
  ASSERT_TRUE(becomes_true(
      [&] { return waits_in_call(sleeps.pid(), "sleep") || waits_in_call(sleeps.pid(), "poll"); }));
  const RankView view =
      inspect_one({ended.pid(), sleeps.pid(), spins.pid(), stopped.pid(), 1 << 30},
                  {.window = 500ms, .stacks = false, .deadline = 60s});
  ASSERT_EQ(view.processes.size(), 5U);
  EXPECT_EQ(view.pid, sleeps.pid());
  EXPECT_EQ(view.processes[0].state, "Z");
  EXPECT_EQ(view.processes[1].state, "S");
  EXPECT_EQ(view.processes[1].cpu, 0);
  EXPECT_EQ(view.processes[2].state, "R");
  EXPECT_GT(view.processes[2].cpu, 0);
  EXPECT_EQ(view.processes[3].state, "T");
  EXPECT_EQ(view.processes[4].state, "X");
  EXPECT_EQ(state_of(stopped.pid()), 'T');  // still stopped
}

TEST(Inspect, TellsOfARankThatIsGone) {
  const RankView view = look_at({1 << 30});
  EXPECT_EQ(view.pid, 0);
  EXPECT_EQ(view.processes.at(0).state, "X");
  EXPECT_TRUE(look_at({}).processes.empty());
}

bool has_native_stack(const RankView& view) {
  return std::ranges::any_of(view.stacks,
                             [](const Stack& one) { return one.source == "eu-stack"; });
}

TEST(Inspect, LeavesAProcessAsItWas) {
  if (!sys::find_program("eu-stack")) GTEST_SKIP() << "eu-stack is not installed";
  auto* const count = static_cast<std::atomic<long>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(count, MAP_FAILED);
  const Child counts([&] {
    while (true) {
      ++*count;
      ::poll(nullptr, 0, 1);
    }
  });
  const Child stopped([] { sleep_for_ever(); });
  ::kill(stopped.pid(), SIGSTOP);
  ASSERT_TRUE(becomes_true([&] { return state_of(stopped.pid()) == 'T'; }));
  const Request request{.window = 50ms, .deadline = 60s};
  const RankView running_view = inspect_one({counts.pid()}, request);
  const RankView stopped_view = inspect_one({stopped.pid()}, request);
  const long before = *count;
  EXPECT_TRUE(becomes_true([&] { return *count > before; }));
  EXPECT_EQ(state_of(stopped.pid()), 'T');
  if (!look_at_call(counts.pid()).denied) {
    EXPECT_TRUE(has_native_stack(running_view));
    EXPECT_TRUE(has_native_stack(stopped_view));
  }
  ::munmap(count, 4096);
}

// The parent of a vfork waits in state D until the child calls exec or exits.
TEST(Inspect, DoesNotStopAProcessInStateD) {
  const Child child([] {
    if (::vfork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
    }
  });
  ASSERT_TRUE(becomes_true([&] { return state_of(child.pid()) == 'D'; }));
  const RankView view = look_at({child.pid()});
  EXPECT_FALSE(has_native_stack(view));
  EXPECT_TRUE(std::ranges::any_of(
      view.not_seen, [](const std::string& text) { return text.starts_with("no native stack"); }));
  const std::string status = "/proc/" + std::to_string(child.pid()) + "/status";
  std::ifstream lines(status);
  // No signal is pending; SIGSTOP would be signal 19.
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("ShdPnd:")) {
      EXPECT_EQ(line, "ShdPnd:\t0000000000000000");
    }
    if (line.starts_with("SigPnd:")) {
      EXPECT_EQ(line, "SigPnd:\t0000000000000000");
    }
  }
}

TEST(Inspect, AGlanceStartsNoProgramAndSendsOnlyCounts) {
  const Child child([] { sleep_for_ever(); });
  ASSERT_TRUE(becomes_true([&] { return state_of(child.pid()) == 'S'; }));
  Request request{.window = 10ms, .stacks = false, .deadline = 60s};
  request.ranks = {{.rank = 0, .pids = {child.pid()}}};
  request.patience = 20;
  const HostView view = inspect(request);
  EXPECT_TRUE(view.ranks.at(0).watched);
  EXPECT_EQ(view.ranks.at(0).processes.at(0).state, "S");
  EXPECT_EQ(view.ranks.at(0).processes.at(0).call, "");
  EXPECT_TRUE(view.ranks.at(0).stacks.empty());
  EXPECT_TRUE(view.addresses.empty());
  EXPECT_TRUE(view.not_seen.empty());
}

TEST(Inspect, DoesNotInterruptACallThatWouldFail) {
  const Child child([] {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigaddset(&none, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &none, nullptr);
    ::sigwaitinfo(&none, nullptr);
  });
  ASSERT_TRUE(becomes_true([&] { return waits_in_call(child.pid(), "wait for a signal"); }));
  const RankView view = inspect_one({child.pid()}, {.window = 50ms, .deadline = 60s});
  EXPECT_FALSE(has_native_stack(view));
  EXPECT_FALSE(view.not_seen.empty());
}

TEST(Inspect, DoesNotInterruptAReceptionWithATimeLimit) {
  for (const time_t limit_s : {0, 1000}) {
    const Child child([&] {
      int ends[2];
      ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
      const timeval limit{.tv_sec = limit_s, .tv_usec = 0};
      ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      char byte = 0;
      (void)!::recv(ends[0], &byte, 1, 0);
    });
    ASSERT_TRUE(becomes_true([&] { return waits_in_call(child.pid(), "read of a socket"); }));
    const CallLook look = look_at_call(child.pid());
    if (look.denied) GTEST_SKIP() << "ptrace is not permitted";
    EXPECT_EQ(stop_would_break(child.pid(), *look.call), limit_s > 0);
  }
}

TEST(Inspect, EndsAtItsDeadline) {
  const Child child([] { sleep_for_ever(); });
  const auto begin = Clock::now();
  const RankView view = inspect_one({child.pid()}, {.window = 10s, .deadline = 400ms});
  EXPECT_LT(Clock::now() - begin, 9s);
  EXPECT_EQ(view.pid, child.pid());
}

}  // namespace
}  // namespace muster::inspect
