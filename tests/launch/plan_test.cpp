#include "launch/plan.hpp"

#include <gtest/gtest.h>

#include "engines/kind.hpp"
#include "launch/three_hosts.hpp"

namespace muster::launch {
namespace {

TEST(Plan, EveryEngineOfTheTableHasOne) {
  Means means = three_hosts_means({"ssh"});
  means.allocation = "17";
  for (const engines::Kind& kind : engines::all()) {
    const layout::Engine engine{.kind = std::string(kind.word),
                                .launcher = std::string(kind.launchers.front())};
    const auto made = plan(three_hosts_job(), three_hosts_layout(engine), means);
    ASSERT_TRUE(made) << kind.word << ": " << made.error().what;
    EXPECT_FALSE(made->commands.empty()) << kind.word;
  }
}

TEST(Plan, NeedsAProgramAndAnEngine) {
  const Means means = three_hosts_means({"ssh"});
  EXPECT_EQ(plan({}, three_hosts_layout({.kind = "openmpi"}), means).error().code,
            ErrorCode::kUsage);
  const auto none = plan(three_hosts_job(), three_hosts_layout({}), means);
  EXPECT_EQ(none.error().what, "muster found nothing on this machine that could start the ranks");
  const auto unknown = plan(three_hosts_job(), three_hosts_layout({.kind = "lsf"}), means);
  EXPECT_EQ(unknown.error().what, "muster cannot start ranks with lsf");
  EXPECT_EQ(unknown.error().code, ErrorCode::kEngineMissing);
}

TEST(Plan, ConfinesTheStoreOfAPythonProgramOnly) {
  const Means means = three_hosts_means({"ssh"});
  layout::Job job = three_hosts_job();
  job.confine_store = true;
  const auto what = [&](const char* engine) {
    const auto made = plan(job, three_hosts_layout({.kind = engine, .launcher = "x"}), means);
    return made ? "" : made.error().what;
  };
  job.program = {"./train"};
  EXPECT_EQ(what("openmpi"),
            "--confine-store needs a program that starts with python, and './train' does not");
  job.program = {"/venv/bin/python3.11", "train.py"};
  EXPECT_EQ(what("openmpi"), "");
  EXPECT_EQ(what("torchrun"),
            "--confine-store is not possible with torchrun, which serves the store itself and "
            "listens on all interfaces");
}

}  // namespace
}  // namespace muster::launch
