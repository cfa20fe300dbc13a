// A warden between a launcher and ranks that may send anything at any time.
#include "agent/warden.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/rank_links.hpp"
#include "agent/run_files.hpp"
#include "base/json_fields.hpp"
#include "fake_host_system.hpp"
#include "inspect/inspection_fields.hpp"

namespace muster::agent {
namespace {

constexpr pid_t kProgram = 500;  // process number of rank 0's program; rank 1's is the next one
constexpr pid_t kShim = 600;

class WardenTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/muster-warden-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    (void)::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    (void)std::signal(SIGPIPE, SIG_IGN);  // as the agent does
    system_.before_wait = [this] { listen(); };
  }
  void TearDown() override {
    (void)::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    std::filesystem::remove_all(folder_);
  }

  void say(const Order& order) { launcher_.send(to_line(order)); }
  void end_at(double seconds) {
    system_.at(seconds, [this] { say({.kind = Order::Kind::kEnd, .grace_s = 2}); });
  }
  void bye_at(double seconds, bool keep = false) {
    system_.at(seconds, [this, keep] { say({.kind = Order::Kind::kBye, .keep = keep}); });
  }
  // Until this time, the launcher sends beats and nothing else.
  void beat_until(double seconds) {
    for (double at = 1; at < seconds; at += 2) {
      system_.at(at, [this] { say({.kind = Order::Kind::kBeat}); });
    }
  }

  void start_rank(int rank, bool dies_of_term = true) {
    ranks_[rank] = Channel(connect_to_links(folder_));
    system_.processes[kProgram + rank] = dies_of_term;
    ranks_[rank].send(to_line(RankStart{.rank = rank,
                                        .program = {.pid = kProgram + rank, .start = 1},
                                        .shim = {.pid = kShim + rank, .start = 1}}));
  }
  void print(int rank, std::uint64_t at, const std::string& bytes) {
    ranks_[rank].send(output_message(sys::Stream::kOut, at, bytes));
  }
  void end_rank(int rank, int status) {
    system_.processes.erase(kProgram + rank);
    ranks_[rank].send(to_line(RankEnd{.rank = rank, .status = status}));
  }

  void listen() {
    launcher_.receive();
    while (const auto message = launcher_.next()) {
      if (const auto report = parse_report(*message)) reports_.push_back(*report);
    }
  }
  void connect_again() { launcher_ = Channel(connect_to_warden(folder_)); }

  // Serves until the warden ends.
  void serve(double orphan_after_s = 60) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    launcher_ = Channel(sys::Fd(ends[0]));
    Warden warden("r1", folder_, system_);
    ASSERT_TRUE(warden.prepare(handout_));
    try {
      rest_ = warden.serve(Channel(sys::Fd(ends[1])), orphan_after_s);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    listen();
  }

  [[nodiscard]] int count(Report::Kind kind) const {
    return static_cast<int>(std::count_if(reports_.begin(), reports_.end(),
                                          [&](const Report& one) { return one.kind == kind; }));
  }
  [[nodiscard]] std::vector<RankEnd> ends() const {
    std::vector<RankEnd> ends;
    for (const Report& one : reports_) {
      if (one.kind == Report::Kind::kEvent && one.event.end) ends.push_back(*one.event.end);
    }
    return ends;
  }
  [[nodiscard]] std::string output() const {
    std::string all;
    for (const Report& one : reports_) all += one.piece.bytes;
    return all;
  }
  [[nodiscard]] bool over_is_marked() const {
    return std::filesystem::exists(folder_ + "/" + kOverMark);
  }

  std::string folder_;
  sigset_t mask_ = {};
  FakeHostSystem system_;
  Channel launcher_;
  std::map<int, Channel> ranks_;
  std::vector<Report> reports_;
  Warden::Rest rest_;
  std::optional<Handout> handout_;
};

TEST_F(WardenTest, PassesOnWhatARankSaysAndLeavesAtBye) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { print(0, 0, "hello\n"); });
  system_.at(3, [&] { end_rank(0, 0); });
  end_at(4);
  bye_at(5);
  serve();
  EXPECT_EQ(reports_.front().kind, Report::Kind::kReady);
  EXPECT_EQ(output(), "hello\n");
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(ends()[0].status, 0);
  EXPECT_EQ(count(Report::Kind::kDone), 1);
  EXPECT_GE(count(Report::Kind::kBeat), 2);
  EXPECT_EQ(rest_.starts.size(), 1U);
  EXPECT_FALSE(rest_.keep);
  EXPECT_TRUE(system_.signals.empty());
}

TEST_F(WardenTest, EndsRanksByTermAndReportsThemAsEndedByMuster) {
  system_.at(1, [&] { start_rank(0); });
  end_at(2);
  system_.at(2.5, [&] { end_rank(0, SIGTERM); });
  bye_at(6);
  serve();
  EXPECT_TRUE(system_.was_sent(kProgram, SIGTERM));
  EXPECT_TRUE(system_.was_sent(kProgram, SIGCONT));  // a stopped one could not end
  EXPECT_FALSE(system_.was_sent(kProgram, SIGKILL));
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_TRUE(ends()[0].by_engine);
  EXPECT_TRUE(over_is_marked());  // no rank starts from now on
}

TEST_F(WardenTest, KillsARankThatIgnoresTermAfterItsGrace) {
  system_.at(1, [&] { start_rank(0, false); });
  end_at(2);
  bye_at(8);
  serve();
  EXPECT_TRUE(system_.was_sent(kProgram, SIGKILL));
  EXPECT_EQ(count(Report::Kind::kDone), 1);
  EXPECT_TRUE(system_.processes.empty());
}

TEST_F(WardenTest, ASecondOrderToEndCutsTheGraceShort) {
  system_.at(1, [&] { start_rank(0, false); });
  end_at(2);
  system_.at(2.5, [this] { say({.kind = Order::Kind::kEnd, .grace_s = 0}); });
  system_.at(3.5, [this] { EXPECT_TRUE(system_.was_sent(kProgram, SIGKILL)); });
  bye_at(8);
  serve();
  EXPECT_EQ(count(Report::Kind::kDone), 1);
}

TEST_F(WardenTest, SaysThatMemoryRanOutForAsManyFailuresAsTheKernelKilledProcesses) {
  system_.killed_for_memory = 7;  // counted before this run
  for (const int rank : {0, 1, 2}) system_.at(1 + 0.1 * rank, [&, rank] { start_rank(rank); });
  system_.at(2, [&] { end_rank(0, SIGKILL); });
  system_.at(3, [&] { system_.killed_for_memory = 8; });
  system_.at(5, [&] { end_rank(1, SIGKILL); });
  system_.at(6, [&] { end_rank(2, SIGKILL); });
  end_at(7);
  bye_at(8);
  serve();
  ASSERT_EQ(ends().size(), 3U);
  EXPECT_FALSE(ends()[0].memory_ran_out);
  EXPECT_TRUE(ends()[1].memory_ran_out);
  EXPECT_FALSE(ends()[2].memory_ran_out);
}

TEST_F(WardenTest, AnOldKillForMemoryDoesNotExplainAFailure) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { system_.killed_for_memory = 1; });
  system_.at(50, [&] { end_rank(0, SIGKILL); });
  end_at(51);
  bye_at(52);
  serve(100);
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_FALSE(ends()[0].memory_ran_out);
}

TEST_F(WardenTest, MemoryIsNotTheReasonForRanksThatMusterEnded) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { system_.killed_for_memory = 1; });
  end_at(3);
  system_.at(3.5, [&] { end_rank(0, SIGTERM); });
  bye_at(6);
  serve();
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_FALSE(ends()[0].memory_ran_out);
}

TEST_F(WardenTest, IsDoneInBoundedTimeThoughAProcessCannotBeKilled) {
  system_.at(1, [&] { start_rank(0, false); });
  system_.immortal = {kProgram};
  end_at(2);
  system_.at(6, [&] { EXPECT_EQ(count(Report::Kind::kDone), 1); });  // 2 s, and 1 s to die
  bye_at(7);
  serve();
  EXPECT_EQ(count(Report::Kind::kDone), 1);
}

TEST_F(WardenTest, ARankThatDisconnectsWasKilled) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { print(0, 0, "last words"); });
  system_.at(3, [&] { ranks_[0].close(); });
  bye_at(4);
  serve();
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(ends()[0].status, SIGKILL);
  EXPECT_NE(ends()[0].failure, "");
  EXPECT_EQ(output(), "last words");
}

TEST_F(WardenTest, ARankThatEndedAndThenDisconnectsIsReportedOnce) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { end_rank(0, 3 << 8); });
  system_.at(2.1, [&] { ranks_[0].close(); });
  bye_at(4);
  serve();
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(ends()[0].status, 3 << 8);
}

TEST_F(WardenTest, EndsTheRunWhenTheLauncherIsGoneForTooLong) {
  system_.at(1, [&] { start_rank(0, false); });
  system_.at(2, [&] { launcher_.close(); });
  serve(60);
  EXPECT_TRUE(system_.was_sent(kProgram, SIGTERM));
  EXPECT_TRUE(system_.was_sent(kProgram, SIGKILL));
  EXPECT_NEAR(system_.elapsed(), 60 + 2, 3);
  EXPECT_TRUE(rest_.keep);  // the user may ask later how the run ended
}

TEST_F(WardenTest, EndsTheRunWhenTheLauncherIsSilentThoughConnected) {
  system_.at(1, [&] { start_rank(0); });
  serve(15);
  EXPECT_TRUE(system_.was_sent(kProgram, SIGTERM));
  EXPECT_NEAR(system_.elapsed(), 15 + 1, 2);
}

TEST_F(WardenTest, ALauncherThatOnlyBeatsKeepsTheRunAlive) {
  system_.at(1, [&] { start_rank(0); });
  beat_until(100);
  system_.at(100, [&] { EXPECT_TRUE(system_.signals.empty()); });
  bye_at(101);
  serve(15);
}

TEST_F(WardenTest, ALauncherThatComesBackGetsEverythingThatItLacks) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { print(0, 0, "one two "); });
  system_.at(3, [&] { launcher_.close(); });
  system_.at(4, [&] { print(0, 8, "three"); });
  system_.at(5, [&] { end_rank(0, 0); });
  system_.at(10, [&] {
    reports_.clear();
    connect_again();
    say({.kind = Order::Kind::kBegin, .taken = {{.rank = 0, .out = 4}}});
  });
  end_at(12);
  bye_at(14);
  serve();
  EXPECT_EQ(count(Report::Kind::kReady), 1);
  EXPECT_EQ(output(), "two three");
  EXPECT_EQ(count(Report::Kind::kEvent), 2);  // its start and its end
  EXPECT_EQ(count(Report::Kind::kDone), 1);
}

// A rank whose output the launcher does not confirm. What the spool cannot hold stays unread.
class UnconfirmedWarden : public WardenTest {
 protected:
  static constexpr std::size_t kPiece = RankSpool::kPiece;

  void print_much(std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kPiece) print(0, at, std::string(kPiece, 'x'));
  }
  void confirm_at(double seconds) {
    const std::vector<Taken> taken = {{.rank = 0, .out = RankSpool::kRoom}};
    system_.at(seconds, [=, this] { say({.kind = Order::Kind::kTaken, .taken = taken}); });
  }
  // What the warden's beats say about waits.
  [[nodiscard]] std::vector<Waited> waits() const {
    std::vector<Waited> all;
    for (const Report& one : reports_) all.insert(all.end(), one.waited.begin(), one.waited.end());
    return all;
  }
  void SetUp() override {
    WardenTest::SetUp();
    system_.before_wait = [this] {
      listen();
      for (auto& [rank, channel] : ranks_) channel.flush();
    };
  }
};

TEST_F(UnconfirmedWarden, CountsHowLongARankHasToWait) {
  constexpr std::size_t kAll = RankSpool::kRoom + 4 * kPiece;
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { print_much(kAll); });
  confirm_at(12);
  system_.at(20, [&] { end_rank(0, 0); });
  end_at(22);
  bye_at(24);
  serve();
  EXPECT_EQ(output().size(), kAll);
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_NEAR(ends()[0].waited_s, 10, 0.5);
  ASSERT_GE(waits().size(), 4U);
  EXPECT_LE(waits().size(), 6U);  // one per beat while it waited, and none later
  EXPECT_LT(waits().front().seconds, 3);
  EXPECT_NEAR(waits().back().seconds, 10, 0.5);
}

TEST_F(UnconfirmedWarden, ARankThatPrintsNoMoreDoesNotWait) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { print_much(RankSpool::kRoom); });
  system_.at(12, [&] { end_rank(0, 0); });
  confirm_at(13);
  end_at(22);
  bye_at(24);
  serve();
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_LT(ends()[0].waited_s, 1.5 + kBeatEverySeconds);  // only its end waited
}

TEST_F(WardenTest, ASecondConnectionTakesThePlaceOfTheFirst) {
  Channel old;
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] {
    old = std::move(launcher_);
    connect_again();
    say({.kind = Order::Kind::kBegin});
  });
  // The goodbye from the old connection comes too late and has no effect.
  system_.at(3, [&] { old.send(to_line(Order{.kind = Order::Kind::kBye})); });
  system_.at(6, [&] { print(0, 0, "x"); });
  bye_at(8);
  serve();
  EXPECT_EQ(output(), "x");
  EXPECT_GE(system_.elapsed(), 8);
}

TEST_F(WardenTest, ALauncherThatIsCutOffWhileTheRanksEndHearsOfItLater) {
  system_.at(1, [&] { start_rank(0, false); });
  end_at(2);
  system_.at(2.1, [&] { launcher_.close(); });
  system_.at(20, [&] {
    reports_.clear();
    connect_again();
    say({.kind = Order::Kind::kBegin});
    say({.kind = Order::Kind::kEnd, .grace_s = 2});  // the launcher sends this after `ready`
  });
  bye_at(22);
  serve();
  EXPECT_EQ(count(Report::Kind::kDone), 1);
}

TEST_F(WardenTest, ByeWhileTheRanksEndIsKeptForLater) {
  system_.at(1, [&] { start_rank(0, false); });
  end_at(2);
  bye_at(2, true);
  serve();
  EXPECT_TRUE(system_.processes.empty());
  EXPECT_EQ(count(Report::Kind::kDone), 1);
  EXPECT_TRUE(rest_.keep);
  EXPECT_LT(system_.elapsed(), 6);
}

TEST_F(WardenTest, OrdersThatCannotBeReadAreIgnored) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] {
    launcher_.send("{\"order\":\"dance\"}\n\xff\xfe\n{}\n[[[\n{\"order\":\"end\"}\n");
    launcher_.send("{\"order\":\"taken\",\"taken\":[[0,99999,99999]]}\n");
  });
  system_.at(3, [&] { print(0, 0, "x"); });
  bye_at(5);
  serve();
  EXPECT_EQ(output(), "x");
  EXPECT_TRUE(system_.signals.empty());
}

TEST_F(WardenTest, GarbageOfTheLauncherIsTheEndOfItsConnectionAndNotOfTheRun) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] {
    launcher_.send(
        "\x1e"
        "99999999999 {}\n");
  });
  system_.at(4, [&] {
    connect_again();
    say({.kind = Order::Kind::kBegin});
  });
  bye_at(6);
  serve();
  EXPECT_TRUE(system_.signals.empty());
  EXPECT_EQ(count(Report::Kind::kReady), 2);
}

TEST_F(WardenTest, GarbageOfARankDoesNotDisturbTheOther) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(1, [&] { start_rank(1); });
  system_.at(2, [&] { ranks_[0].send("\xff\xff\nnonsense\n{\"event\":\"end\"}\n"); });
  system_.at(3, [&] { print(1, 0, "fine"); });
  bye_at(5);
  serve();
  EXPECT_EQ(output(), "fine");
  EXPECT_TRUE(ends().empty());
}

TEST_F(WardenTest, SigtermEndsTheRunAndKeepsItsFolder) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [] {
    // From another process, because a warden ignores signals that it sends to itself.
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::kill(::getppid(), SIGTERM));
    (void)::waitpid(child, nullptr, 0);
  });
  serve();
  EXPECT_TRUE(system_.was_sent(kProgram, SIGTERM));
  EXPECT_TRUE(rest_.keep);
  EXPECT_LT(system_.elapsed(), 6);
}

TEST_F(WardenTest, ARankThatIsStartedAgainIsReportedAgain) {
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { end_rank(0, 1 << 8); });
  system_.at(3, [&] {
    system_.processes[700] = true;
    ranks_[9] = Channel(connect_to_links(folder_));
    ranks_[9].send(to_line(RankStart{.rank = 0, .program = {.pid = 700, .start = 2}}));
  });
  end_at(4);
  bye_at(8);
  serve();
  EXPECT_TRUE(system_.was_sent(700, SIGTERM));
}

// The inspector's answer as the launcher received it.
struct Answer {
  int number = 0;
  std::vector<std::string> not_seen = {};
  std::size_t ranks = 0;
};

class InspectedWarden : public WardenTest {
 protected:
  [[nodiscard]] Answer inspect() {
    system_.at(1, [&] { start_rank(0); });
    system_.at(2, [&] { say({.kind = Order::Kind::kInspect, .inspection = {.number = 5}}); });
    bye_at(30);
    serve();
    EXPECT_EQ(count(Report::Kind::kInspection), 1);
    for (const Report& one : reports_) {
      if (one.kind != Report::Kind::kInspection) continue;
      return {one.inspection, one.view.not_seen, one.view.ranks.size()};
    }
    return {};
  }
};

TEST_F(InspectedWarden, PassesOnWhatWasSeen) {
  system_.inspector_says =
      json_of_fields(inspect::HostView{.ranks = {{.rank = 0}}, .not_seen = {"nothing"}}) + "\n";
  const Answer answer = inspect();
  EXPECT_EQ(answer.number, 5);
  EXPECT_EQ(answer.ranks, 1U);
  EXPECT_EQ(answer.not_seen, std::vector<std::string>{"nothing"});
  EXPECT_EQ(system_.inspector_signals, std::vector<int>{SIGTERM});
}

TEST_F(InspectedWarden, AnswersAsSoonAsTheLineIsThere) {
  system_.inspector_says = json_of_fields(inspect::HostView{}) + "\n";
  system_.inspector_ends = false;  // threads that are stuck in the kernel keep the output open
  EXPECT_TRUE(inspect().not_seen.empty());
}

TEST_F(InspectedWarden, SaysAtOnceThatAnInspectorCouldNotBeStarted) {
  EXPECT_EQ(inspect().not_seen,
            std::vector<std::string>{"the inspection of this host could not be started"});
}

TEST_F(InspectedWarden, SaysThatAnInspectorFailed) {
  system_.inspector_says = "{\"ranks\":";
  EXPECT_EQ(inspect().not_seen, std::vector<std::string>{"the inspection of this host failed"});
}

TEST_F(InspectedWarden, EndsAnInspectorThatTakesTooLong) {
  system_.inspector_says = "{";
  system_.inspector_ends = false;
  EXPECT_EQ(inspect().not_seen,
            std::vector<std::string>{"the inspection of this host did not end in time"});
  EXPECT_EQ(system_.inspector_signals, std::vector<int>{SIGTERM});
}

TEST_F(WardenTest, NoInspectorIsStartedWhileAnEarlierOneHangs) {
  system_.inspector_says = "{";
  system_.inspector_ends = false;
  system_.inspector_hangs = true;
  system_.at(1, [&] { say({.kind = Order::Kind::kInspect, .inspection = {.number = 1}}); });
  system_.at(20, [&] { say({.kind = Order::Kind::kInspect, .inspection = {.number = 2}}); });
  bye_at(30);
  serve();
  EXPECT_EQ(system_.inspector_signals, (std::vector<int>{SIGTERM, SIGKILL}));
  ASSERT_EQ(count(Report::Kind::kInspection), 2);
  for (const Report& one : reports_) {
    if (one.inspection != 2) continue;
    EXPECT_EQ(one.view.not_seen,
              std::vector<std::string>{"an earlier inspection of this host still hangs in the "
                                       "kernel"});
  }
}

TEST_F(WardenTest, AnInspectionThatTheRunDoesNotOutliveIsEnded) {
  system_.inspector_says = "{";
  system_.inspector_ends = false;
  system_.at(1, [&] { say({.kind = Order::Kind::kInspect}); });
  bye_at(2);
  serve();
  EXPECT_EQ(system_.inspector_signals, std::vector<int>{SIGTERM});
}

TEST_F(WardenTest, OfAFailureTheKernelsLogIsSentBeforeTheEnd) {
  const std::vector<std::string> said = {"Out of memory: Killed process 500 (python3)"};
  system_.kernel_said = said;
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { end_rank(0, SIGKILL); });
  end_at(3);
  bye_at(6);
  serve();
  ASSERT_EQ(count(Report::Kind::kKernelLog), 1);
  const auto sent = std::find_if(reports_.begin(), reports_.end(), [](const Report& one) {
    return one.kind == Report::Kind::kKernelLog;
  });
  EXPECT_EQ(sent->kernel_log, said);
  EXPECT_EQ((sent + 1)->kind, Report::Kind::kDone);
}

TEST_F(WardenTest, ANewConnectionGetsTheKernelsLogAgain) {
  const std::vector<std::string> said = {"Out of memory: Killed process 500 (python3)"};
  system_.kernel_said = said;
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { end_rank(0, SIGKILL); });
  end_at(3);
  system_.at(5, [this] {
    connect_again();
    say({.kind = Order::Kind::kBegin});
  });
  end_at(6);
  bye_at(9);
  serve();
  ASSERT_EQ(count(Report::Kind::kKernelLog), 2);
  for (const Report& one : reports_) {
    if (one.kind == Report::Kind::kKernelLog) {
      EXPECT_EQ(one.kernel_log, said);
    }
  }
}

TEST_F(WardenTest, OfASuccessTheKernelsLogIsNotSent) {
  system_.kernel_said = {"Out of memory: Killed process 500 (python3)"};
  system_.at(1, [&] { start_rank(0); });
  system_.at(2, [&] { end_rank(0, 0); });
  end_at(3);
  bye_at(6);
  serve();
  EXPECT_EQ(count(Report::Kind::kKernelLog), 0);
}

TEST_F(WardenTest, EndTwiceAndByeTwiceAreOne) {
  system_.at(1, [&] { start_rank(0, false); });
  end_at(2);
  end_at(2);
  bye_at(7);
  bye_at(7);
  serve();
  EXPECT_EQ(count(Report::Kind::kDone), 1);
}

}  // namespace
}  // namespace muster::agent
