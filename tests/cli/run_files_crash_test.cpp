// Simulates a crash, a full disk or bad sectors at every system call that writes to a run's folder.
// Each file must be absent or complete, and muster runs, status and --again must still work.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/kept_command.hpp"
#include "cli/run_values.hpp"
#include "run/about.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"
#include "sys/crash_states.hpp"
#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::cli {
namespace {

using test::Tree;
using test::Trouble;

constexpr const char* kOld = "20261115-040812-00000";
constexpr const char* kNew = "20261115-040812-11111";

class RunFilesCrash : public testing::Test {
 protected:
  void SetUp() override {
    (void)::setenv("XDG_STATE_HOME", state_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    ASSERT_EQ(keep_run(kOld), "");
    before_ = test::read_tree(state_);
  }
  void TearDown() override {
    (void)::unsetenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
  }

  // Writes the files of a run from its start to its end.
  static Result<void> try_keep_run(const std::string& id) {
    const layout::Layout layout{.engine = {.kind = "openmpi", .version = "5.0.11"},
                                .placements = {{.host = "n1", .ranks = 2}},
                                .ranks = 2};
    MUSTER_TRY(const std::string folder, run::make_run_folder(id));
    MUSTER_CHECK(run::write_owner(folder));
    MUSTER_CHECK(keep_command(folder, {"-H", "n1"}, {"./train"}));
    const launch::Plan plan{.commands = {{.argv = {"mpirun", "./train"}}},
                            .files = {{.path = folder + "/hostfile", .content = "n1 slots=2\n"}}};
    const std::vector<checks::Finding> findings = {
        {.id = "nccl-dev-shm-full", .hosts = {"n1"}, .what = "x"}};
    MUSTER_CHECK(write_values({{}, findings, layout, plan}, folder));
    const run::Record record{.id = id, .command = "./train", .ranks = {{.rank = 0, .host = "n1"}}};
    MUSTER_CHECK(run::write_about(folder, run::about(record)));
    return sys::write_file(folder + "/record.json", to_json(record, judge(record)), 0600);
  }
  static std::string keep_run(const std::string& id) {
    const auto done = try_keep_run(id);
    return done ? "" : to_text(done.error());
  }

  // Expects that all files that exist can be read. If command.json is missing, the error must name
  // it.
  static void expect_readable(const std::string& folder, const std::string& when) {
    const auto text = [&](const char* name) { return sys::read_file(folder + "/" + name); };
    if (const auto layout = text("layout.json")) {
      EXPECT_EQ(layout::parse_layout(*layout).value().ranks, 2) << when;
    }
    if (const auto plan = text("plan.json")) {
      EXPECT_EQ(launch::parse_plan(*plan).value().commands.size(), 1U) << when;
    }
    if (sys::exists(folder + "/about.json")) {
      EXPECT_EQ(run::read_about(folder).value().command, "./train") << when;
    }
    if (const auto record = text("record.json")) {
      EXPECT_EQ(run::parse_summary(*record).value().command, "./train") << when;
    }
    if (const auto hostfile = text("hostfile")) {
      EXPECT_EQ(*hostfile, "n1 slots=2\n") << when;
    }
    if (const auto owner = text("owner")) {
      EXPECT_TRUE(owner->ends_with('\n')) << when;
    }
    const auto command = read_command(folder);
    if (sys::exists(folder + "/command.json")) {
      EXPECT_EQ(command.value().program, (Program{"./train"})) << when;
    } else {
      EXPECT_EQ(command.error().where.file, folder + "/command.json") << when;
    }
  }

  // Expects that the earlier run is unchanged, that the new one can be read as far as it got, and
  // that another run can start.
  void expect_recovery(const Tree& crashed, const std::string& when) const {
    for (const auto& [path, node] : before_) {
      ASSERT_TRUE(crashed.contains(path)) << path << " is gone: " << when;
      EXPECT_EQ(crashed.at(path), node) << path << ": " << when;
    }
    test::write_tree(state_, crashed);
    for (const std::string& id : run::list_runs()) {
      const auto folder = run::find_run(id);
      ASSERT_TRUE(folder) << when;
      expect_readable(*folder, when);
    }
    EXPECT_EQ(keep_run("20261115-040812-22222"), "") << when;
    EXPECT_EQ(run::living_owner(run::runs_folder() + "/20261115-040812-22222"), ::getpid());
  }

  const sys::TempFolder temp_{"/dev/shm/"};
  const std::string state_ = temp_.path() + "/state";
  Tree before_;
};

TEST_F(RunFilesCrash, AreWholeOrAbsentAfterACrash) {
  const auto watched = test::watch(state_, [] { return keep_run(kNew).empty() ? 0 : 1; });
  ASSERT_EQ(watched.status, 0);
  ASSERT_GT(watched.calls, 40);
  for (const auto& [tree, when] : watched.states) expect_recovery(tree, when);
  std::printf("%ld calls, %zu states\n", watched.calls, watched.states.size());
}

TEST_F(RunFilesCrash, AreWholeOrAbsentOnABadDisk) {
  const auto work = [] { return keep_run(kNew).empty() ? 0 : 1; };
  for (const Trouble trouble : {Trouble::full_disk, Trouble::bad_sector}) {
    test::write_tree(state_, before_);
    const long calls = test::count_calls(state_, work, trouble);
    ASSERT_GT(calls, 20);
    for (long at = 1; at <= calls; ++at) {
      test::write_tree(state_, before_);
      (void)test::run_in_trouble(state_, work, trouble, at);
      expect_recovery(test::read_tree(state_), fmt::format("trouble at call {}", at));
    }
  }
}

}  // namespace
}  // namespace muster::cli
