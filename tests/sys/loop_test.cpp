#include "sys/loop.hpp"

#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::sys {
namespace {

using std::chrono::milliseconds;

std::shared_ptr<const std::string> bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(Loop, AProgramIsSpokenToAndAnswers) {
  UvLoop loop;
  std::string said;
  std::shared_ptr<Process> process;
  int code = -1;
  process = *loop.start({.argv = {"cat"},
                         .input = Input::kPipe,
                         .on_output =
                             [&](Stream, std::string_view chunk) {
                               said += chunk;
                               if (said == "one") process->write(bytes("two"));
                               if (said == "onetwo") process->close_input();
                             },
                         .on_end = [&](int ended, int) { code = ended; }});
  process->write(bytes("one"));
  loop.run();
  EXPECT_EQ(said, "onetwo");
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(process->running());
  process->write(bytes("nobody reads this"));  // harmless
  process->kill(SIGTERM);
}

TEST(Loop, AProgramThatReadsNothingDoesNotFillTheMemory) {
  UvLoop loop;
  const auto process = loop.start({.argv = {"sleep", "60"}, .input = Input::kPipe});
  const auto megabyte = bytes(std::string(1 << 20, 'x'));
  for (int i = 0; i < 64; ++i) (*process)->write(megabyte);
  EXPECT_GE((*process)->input_descriptor(), 0);
  for (int i = 0; i < 4; ++i) (*process)->write(megabyte);
  EXPECT_EQ((*process)->input_descriptor(), -1);
  (*process)->kill(SIGKILL);
  loop.run();
}

TEST(Loop, AProgramThatIsNotThereIsAnError) {
  UvLoop loop;
  const auto process = loop.start({.argv = {"/no/such/program"}});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, ErrorCode::kEngineMissing);
  loop.run();
}

TEST(Loop, TellsTheSignalThatEndedAProgram) {
  UvLoop loop;
  int signal = 0;
  const auto process =
      loop.start({.argv = {"sleep", "60"}, .on_end = [&](int, int ended) { signal = ended; }});
  (*process)->kill(SIGKILL);
  loop.run();
  EXPECT_EQ(signal, SIGKILL);
}

TEST(Loop, ADescendantThatKeepsTheOutputIsGivenUp) {
  UvLoop loop;
  bool exited = false, ended = false;
  pid_t left = 0;
  const auto process = loop.start(
      {.argv = {"sh", "-c", "sleep 300 & echo $!"},
       .on_output = [&](Stream, std::string_view chunk) { left = std::stoi(std::string(chunk)); },
       .on_end = [&](int, int) { ended = exited; },
       .on_exit = [&] { exited = true; }});
  ASSERT_TRUE(process);
  loop.run();
  EXPECT_TRUE(ended);
  ASSERT_GT(left, 0);
  EXPECT_EQ(::kill(left, SIGKILL), 0) << "the loop has waited for it";
}

TEST(Loop, GivesDescriptorsAndNoOtherOfOurs) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const int ours = ::fcntl(pair[0], F_DUPFD_CLOEXEC, 77);
  UvLoop loop;
  int code = -1;
  const std::string there = "/proc/self/fd/" + std::to_string(ours);
  const auto process = loop.start({.argv = {"sh", "-c", "echo hello >&3; test -e " + there},
                                   .descriptors = {pair[1]},
                                   .on_end = [&](int ended, int) { code = ended; }});
  ASSERT_TRUE(process);
  loop.run();
  char buffer[16] = {};
  EXPECT_EQ(::read(pair[0], buffer, sizeof buffer), 6);
  EXPECT_STREQ(buffer, "hello\n");
  EXPECT_EQ(code, 1);
  for (const int descriptor : {pair[0], pair[1], ours}) ::close(descriptor);
}

TEST(Loop, TimersRepeatUntilTheyGoAndSignalsAreCalls) {
  UvLoop loop;
  int ticks = 0;
  bool interrupted = false;
  loop.on_signal(SIGUSR1, [&] { interrupted = true; });
  std::shared_ptr<Timer> timer;
  timer = loop.timer(milliseconds(1), milliseconds(1), [&] {
    if (++ticks == 2) ::raise(SIGUSR1);
    if (interrupted) timer = nullptr;
  });
  loop.run();
  EXPECT_TRUE(interrupted);
  EXPECT_GE(ticks, 2);
}

TEST(Loop, DroppedSignalsMeanWhatTheyDid) {
  UvLoop loop;
  loop.on_signal(SIGUSR2, [] {});
  loop.drop_signals();
  struct sigaction now = {};
  ASSERT_EQ(::sigaction(SIGUSR2, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(Loop, StopsWhenTold) {
  UvLoop loop;
  const auto process = loop.start({.argv = {"sleep", "60"}});
  const auto timer = loop.timer(milliseconds(1), {}, [&] { loop.stop(); });
  loop.run();
  EXPECT_TRUE((*process)->running());
  (*process)->kill(SIGKILL);
  loop.run();
  EXPECT_FALSE((*process)->running());
}

}  // namespace
}  // namespace muster::sys
