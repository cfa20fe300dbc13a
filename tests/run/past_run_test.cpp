#include "run/past_run.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "run/about.hpp"
#include "run/ending.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"
#include "run/removal.hpp"
#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

// The runs that these tests make are in a state folder of their own.
class PastRuns : public sys::FolderTest {
 protected:
  void SetUp() override {
    (void)::setenv("XDG_STATE_HOME", folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override {
    (void)::unsetenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
  }

  static Record record_of(const std::string& id, double started_s) {
    return {
        .id = id,
        .name = "lr3",
        .command = "./train",
        .engine = "Open MPI 5.0.11",
        .started_s = started_s,
        .ended_s = started_s + 10,
        .ranks = {{.rank = 0, .host = "n1"}, {.rank = 1, .host = "n1"}, {.rank = 2, .host = "n2"}}};
  }
  // Stores a run as it is just after its start, and returns its folder.
  static std::string start(const Record& record) {
    std::string folder = make_run_folder(record.id).value();
    EXPECT_TRUE(write_about(folder, about(record, 90)));
    EXPECT_TRUE(sys::write_file(folder + "/out", "x", 0600));
    return folder;
  }
  static void end(const Record& record, const Verdict& verdict) {
    const std::string folder = runs_folder() + "/" + record.id;
    EXPECT_TRUE(sys::write_file(folder + "/record.json", to_json(record, verdict), 0600));
  }
};

TEST_F(PastRuns, TellHowTheyStartedWhileTheyRun) {
  const std::string folder = start(record_of("20260101-a", 100));
  ASSERT_TRUE(write_owner(folder));
  const PastRun run = look_at_run("20260101-a");
  EXPECT_EQ(run.state, RunState::kRunning);
  EXPECT_EQ(run.name, "lr3");
  EXPECT_EQ(run.command, "./train");
  EXPECT_EQ(run.hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(run.ranks, 3);
  EXPECT_EQ(duration_of(run, 160), 60);
  const auto json = json_of(run, 160);
  EXPECT_TRUE(json["code"].is_null() && json["ended"].is_null());
  EXPECT_EQ(json["state"], "running");
}

TEST_F(PastRuns, TellHowTheyEnded) {
  const auto ended = [](const std::string& id, Reason reason, const Verdict& verdict) {
    Record record = record_of(id, 100);
    record.reason = reason;
    (void)start(record);
    end(record, verdict);
    return look_at_run(id);
  };
  EXPECT_EQ(ended("a", Reason::kEngineEnded, {.code = 0}).state, RunState::kOk);
  EXPECT_EQ(ended("b", Reason::kInterrupted, {.code = 130}).state, RunState::kStopped);
  const PastRun failed = ended("c", Reason::kRankFailed, {.code = 3, .text = "rank 1 failed"});
  EXPECT_EQ(failed.state, RunState::kFailed);
  EXPECT_EQ(failed.code, 3);
  EXPECT_EQ(failed.why, "rank 1 failed");
  EXPECT_EQ(duration_of(failed, 1000), 10);
}

TEST_F(PastRuns, ThatNobodyEndedWereKilledOrNeverStarted) {
  (void)start(record_of("a", 100));
  EXPECT_EQ(look_at_run("a").state, RunState::kKilled);
  ASSERT_TRUE(make_run_folder("b"));
  EXPECT_EQ(look_at_run("b").state, RunState::kNotStarted);
  const std::string elsewhere = start(record_of("c", 100));
  ASSERT_TRUE(sys::write_file(elsewhere + "/owner", "1 1 another-machine\n", 0600));
  EXPECT_EQ(look_at_run("c").state, RunState::kElsewhere);
  EXPECT_TRUE(may_be_running(elsewhere));
}

TEST_F(PastRuns, DoNotOutliveARebootOfThisMachine) {
  const std::string folder = start(record_of("a", 100));
  ASSERT_TRUE(write_owner(folder));
  ASSERT_TRUE(look_at_run("a").state == RunState::kRunning);
  // A process of the new boot may have the same pid and the same start time.
  std::string owner = sys::read_file(folder + "/owner").value();
  owner.replace(owner.rfind(' ') + 1, std::string::npos, "an-earlier-boot\n");
  ASSERT_TRUE(sys::write_file(folder + "/owner", owner, 0600));
  const PastRun run = look_at_run("a");
  EXPECT_EQ(run.state, RunState::kKilled);
  EXPECT_EQ(run.why,
            "muster was killed or this machine rebooted; the hosts end the run at the latest after "
            "90 s without "
            "muster");
  EXPECT_EQ(living_owner(folder), 0);
  EXPECT_FALSE(may_be_running(folder));
}

TEST_F(PastRuns, CountAllTheirAttempts) {
  Record first = record_of("a", 100);
  first.started_again = "rank 1 failed";
  const std::string folder = start(first);
  end(first, {.code = 3, .text = "rank 1 failed"});
  ASSERT_TRUE(write_owner(folder));
  EXPECT_EQ(look_at_run("a").state, RunState::kRunning) << "it waits for its next attempt";
  EXPECT_EQ(look_at_run("a", true).state, RunState::kFailed);
  const Record second = record_of("a.1", 200);
  (void)start(second);
  end(second, {});
  const PastRun run = look_at_run("a");
  EXPECT_EQ(run.state, RunState::kOk);
  EXPECT_EQ(run.attempts, 2);
  EXPECT_EQ(run.started_s, 100);
  EXPECT_EQ(duration_of(run, 1000), 110);
}

TEST_F(PastRuns, ThatWereStoppedBetweenAttemptsAreStopped) {
  Record first = record_of("a", 100);
  first.started_again = "rank 1 failed";
  const std::string folder = start(first);
  end(first, {.code = 3, .text = "rank 1 failed", .first_failed_rank = 1, .failed_host = "n1"});
  EXPECT_EQ(recorded_ending(folder).value().host, "n1");
  const Ending stopped{.code = 143, .text = "stopped", .stopped = true, .ended_s = 160};
  ASSERT_TRUE(keep_ending(folder, stopped));
  ASSERT_TRUE(write_owner(folder));  // muster, still running, is about to report the end
  const PastRun run = look_at_run("a");
  EXPECT_EQ(run.state, RunState::kStopped);
  EXPECT_EQ(run.code, 143);
  EXPECT_EQ(run.why, "stopped");
  EXPECT_EQ(duration_of(run, 1000), 60);
  EXPECT_EQ(recorded_ending(folder).value().code, 143);
  ASSERT_TRUE(keep_ending(folder, {.code = 124, .text = "the time limit has passed"}));
  EXPECT_EQ(look_at_run("a").state, RunState::kFailed);
}

TEST_F(PastRuns, TellOfTheLatestAttemptThatWasStarted) {
  (void)start(record_of("a", 100));
  end(record_of("a", 100), {.code = 3, .text = "rank 1 failed"});
  const std::string next = make_run_folder("a.1").value();  // its hosts are being checked
  EXPECT_EQ(latest_of(find_run("a").value()), runs_folder() + "/a");
  const PastRun refused = look_at_run("a");
  EXPECT_EQ(refused.state, RunState::kFailed);
  EXPECT_EQ(refused.why, "rank 1 failed");
  EXPECT_EQ(refused.command, "./train");
  EXPECT_EQ(refused.attempts, 1);
  ASSERT_TRUE(write_owner(next));
  EXPECT_EQ(look_at_run("a").state, RunState::kRunning);
}

TEST_F(PastRuns, AreFoundByTheirName) {
  (void)start(record_of("20260101-a", 100));
  (void)start(record_of("20260102-b", 200));
  (void)start(record_of("20260102-b.1", 300));
  EXPECT_EQ(id_of(find_run("lr3").value()), "20260102-b") << "the newest of that name";
  EXPECT_EQ(latest_of(find_run("lr3").value()), runs_folder() + "/20260102-b.1");
  EXPECT_FALSE(find_run("lr4"));
  EXPECT_EQ(newest_runs(), (std::vector<std::string>{"20260102-b", "20260101-a"}));
  EXPECT_EQ(newest_runs(1), (std::vector<std::string>{"20260102-b"}));
}

TEST(RunName, IsAWordThatIsNoId) {
  for (const char* good : {"lr3", "lr0.1", "a-b_c"}) EXPECT_EQ(wrong_name(good), "") << good;
  for (const char* bad : {"", "last", "3lr", "2026", "a b", "a/b", "..", "\x1b[31m"}) {
    EXPECT_NE(wrong_name(bad), "") << bad;
  }
  EXPECT_NE(wrong_name(std::string(65, 'x')), "");
}

std::string chosen(const Removal& rules) {
  const std::vector<StoredRun> runs = {{.base = "d", .last_s = 400, .bytes = 10},
                                       {.base = "c", .last_s = 300, .bytes = 20, .in_use = true},
                                       {.base = "b", .last_s = 200, .bytes = 30},
                                       {.base = "a", .last_s = 100, .bytes = 40}};
  std::string bases;
  for (const StoredRun& run : to_remove(runs, rules)) bases += run.base;
  return bases;
}

TEST(Removal, ChoosesNamedOldAndTooManyRuns) {
  EXPECT_EQ(chosen({}), "");
  EXPECT_EQ(chosen({.named = {"d"}}), "d");
  EXPECT_EQ(chosen({.before_s = 250}), "ab");
  EXPECT_EQ(chosen({.before_s = 1000}), "abd") << "c is in use";
  EXPECT_EQ(chosen({.max_bytes = 100}), "");
  EXPECT_EQ(chosen({.max_bytes = 99}), "a");
  EXPECT_EQ(chosen({.max_bytes = 60}), "a");
  EXPECT_EQ(chosen({.max_bytes = 59}), "ab");
  EXPECT_EQ(chosen({.max_bytes = 0}), "abd");
  EXPECT_EQ(chosen({.named = {"d"}, .max_bytes = 90}), "d");
}

TEST_F(PastRuns, AreRemovedWithAllAttemptsAndNothingElse) {
  for (const char* id : {"a", "a.1", "ab"}) (void)start(record_of(id, 100));
  const std::string outside = folder_ + "/outside";
  ASSERT_TRUE(sys::make_folders(outside, 0700));
  ASSERT_EQ(::symlink(outside.c_str(), (runs_folder() + "/a/link").c_str()), 0);
  EXPECT_GT(stored_bytes("a"), stored_bytes("ab"));
  ASSERT_TRUE(remove_run("a"));
  EXPECT_EQ(list_runs(), (std::vector<std::string>{"ab"}));
  EXPECT_TRUE(sys::exists(outside));
}

TEST_F(PastRuns, WhoseRemovalWasInterruptedAreNotListed) {
  ASSERT_TRUE(make_run_folder("ab"));
  ASSERT_TRUE(sys::make_folders(runs_folder() + "/.removed-a", 0700));
  EXPECT_EQ(list_runs(), (std::vector<std::string>{"ab"}));
  clear_removed();
  EXPECT_FALSE(sys::exists(runs_folder() + "/.removed-a"));
  EXPECT_TRUE(sys::exists(runs_folder() + "/ab"));
}

}  // namespace
}  // namespace muster::run
