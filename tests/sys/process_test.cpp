#include "sys/process.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "sys/run_until_signal.hpp"
#include "sys/temp_folder.hpp"

namespace muster::sys {
namespace {

using std::chrono::milliseconds;

Command shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}};
}

TEST(Process, KeepsBothOutputsAndTheExitCodeApart) {
  const auto ended = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->out, "out\n");
  EXPECT_EQ(ended->err, "err\n");
  EXPECT_EQ(ended->code, 3);
  EXPECT_FALSE(ended->ok());
}

TEST(Process, TellsASignalFromAnExit) {
  const auto ended = run(shell("kill -SEGV $$"));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->signal, SIGSEGV);
}

TEST(Process, ASignalEndsTheCommandsAndNotTheirParent) {
  const TempFolder folder;
  const std::string later = folder.path() + "/later";
  const std::vector<Command> commands = {shell("kill -TERM $PPID; exec sleep 1000"),
                                         shell("touch " + later)};
  int signal = 0;
  const auto ended = run_until_signal(commands, 1, signal);
  EXPECT_EQ(signal, SIGTERM);
  EXPECT_EQ(ended[0]->signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(later));
  // A second call handles the signal too.
  EXPECT_EQ(run_until_signal(commands, 1, signal).size(), 2U);
}

TEST(Process, AnIgnoredSignalEndsNoCommand) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup does
  const std::vector<Command> commands = {shell("kill -HUP $PPID; echo done")};
  int signal = 0;
  const auto ended = run_until_signal(commands, 1, signal);
  (void)std::signal(SIGHUP, before);
  EXPECT_EQ(signal, 0);
  EXPECT_EQ(ended[0]->out, "done\n");
}

TEST(Process, PassesAMegabyteThroughBothWays) {
  Command command = shell("cat");
  const std::string megabyte(1 << 20, 'x');
  command.input = std::make_shared<const std::string>(megabyte);
  const auto ended = run(command);
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->out == megabyte);
}

TEST(Process, KeepsOnlySoMuchOutputAndCountsTheRest) {
  const Command talks = shell("head -c 3000 /dev/zero; head -c 100 /dev/zero >&2");
  const auto ended = run_all({&talks, 1}, 1, {}, {.of_stream = 1000, .of_all = 5000});
  ASSERT_TRUE(ended[0].has_value());
  EXPECT_TRUE(ended[0]->ok());
  EXPECT_EQ(ended[0]->out.size(), 1000U);
  EXPECT_EQ(ended[0]->err.size(), 100U);
  EXPECT_EQ(ended[0]->dropped, 2000U);
}

TEST(Process, KeepsOnlySoMuchOutputOfAllTogether) {
  const std::vector<Command> commands(3, shell("head -c 800 /dev/zero"));
  const auto ended = run_all(commands, 1, {}, {.of_stream = 1000, .of_all = 1000});
  EXPECT_EQ(ended[0]->out.size(), 800U);
  EXPECT_EQ(ended[1]->out.size(), 200U);
  EXPECT_EQ(ended[1]->dropped, 600U);
  EXPECT_EQ(ended[2]->dropped, 800U);
}

TEST(Process, SurvivesAProgramThatDoesNotReadItsInput) {
  Command command = shell("exec <&-; exit 4");
  command.input = std::make_shared<const std::string>(std::string(1 << 20, 'x'));
  const auto ended = run(command);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 4);
}

TEST(Process, EndsWhatPassesItsDeadlineEvenIfItIgnoresSigterm) {
  Command command = shell("trap '' TERM; echo here; while :; do sleep 0.1; done");
  command.deadline = milliseconds(2000);
  const auto start = std::chrono::steady_clock::now();
  const auto ended = run(command);
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->timed_out);
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_EQ(ended->out, "here\n");
  EXPECT_LT(took, std::chrono::seconds(60));
}

TEST(Process, DoesNotWaitForADescendantThatKeepsThePipe) {
  const auto start = std::chrono::steady_clock::now();
  const auto ended = run(shell("sleep 300 & echo $!"));
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  const int descendant = std::stoi(ended->out);
  EXPECT_EQ(::kill(descendant, SIGKILL), 0);
}

TEST(Process, NamesAProgramThatDoesNotExist) {
  const auto ended = run({.argv = {"no-such-program-at-all"}});
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, ErrorCode::kEngineMissing);
  EXPECT_NE(ended.error().what.find("no-such-program-at-all"), std::string::npos);
}

TEST(Process, SetsVariablesOnTopOfOurOwn) {
  Command command = shell("echo $EXTRA; test -n \"$PATH\"");
  command.env = {"EXTRA=a=b"};
  const auto ended = run(command);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->out, "a=b\n");
  EXPECT_TRUE(ended->ok());
}

TEST(Process, RunsManyAtOnceAndKeepsTheirOrder) {
  std::vector<Command> commands;
  for (int i = 0; i < 40; ++i) commands.push_back(shell("echo " + std::to_string(i)));
  commands.push_back({.argv = {"no-such-program-at-all"}});
  std::size_t ends = 0;
  const auto results = run_all(commands, 8, [&](std::size_t, const Result<Ended>&) { ++ends; });
  ASSERT_EQ(results.size(), 41U);
  EXPECT_EQ(ends, 41U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(results[i]->out, std::to_string(i) + "\n");
  EXPECT_FALSE(results[40].has_value());
}

TEST(Process, HandsOutputOnWhileTheProgramStillRuns) {
  // The program waits for a file that is created only after the first piece of its output. So it
  // succeeds only if that piece arrived before its end.
  const TempFolder folder;
  const std::string mark = folder.path() + "/seen";
  Command command = shell("echo ready; echo oops >&2; i=0; while ! test -e " + mark +
                          "; do i=$((i+1)); test $i -lt 5000 || exit 9; sleep 0.01; done");
  command.deadline = std::chrono::seconds(120);
  std::string out;
  std::string err;
  command.on_output = [&](Stream stream, std::string_view chunk) {
    (stream == Stream::kOut ? out : err).append(chunk);
    if (!out.empty()) std::ofstream(mark) << "x";
  };
  const auto ended = run(command);
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok()) << to_text(*ended);
  EXPECT_EQ(out, "ready\n");
  EXPECT_EQ(err, "oops\n");
}

TEST(Process, KeepsOnlyTheTailOfWhatIsHandedOn) {
  Command command = shell("yes | head -c 1000000; echo end");
  std::size_t bytes = 0;
  command.on_output = [&](Stream, std::string_view chunk) { bytes += chunk.size(); };
  const auto ended = run(command);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(bytes, 1000004U);
  EXPECT_LE(ended->out.size(), 2 * kTailBytes);
  EXPECT_EQ(ended->out.substr(ended->out.size() - 6), "y\nend\n");
}

TEST(Process, LeavesNoDescriptorBehind) {
  // Counted between runs, not in a child, which has descriptors that are still to be closed.
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  ASSERT_TRUE(run(shell("true")).has_value());  // opens descriptors that stay open from now on
  const auto before = count();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(shell("true")).has_value());
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace muster::sys
