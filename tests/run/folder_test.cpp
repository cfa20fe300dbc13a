#include "run/folder.hpp"

#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

// The runs that these tests make are in a state folder of their own.
class Runs : public sys::FolderTest {
 protected:
  void SetUp() override {
    (void)::setenv("XDG_STATE_HOME", folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    add("2026-a");
    for (int i = 10; i >= 0; --i) add(attempt_id("2026-b", i));
  }
  static void add(const std::string& id) {
    ASSERT_TRUE(make_run_folder(id));
    ASSERT_TRUE(sys::write_file(runs_folder() + "/" + id + "/out", "", 0600));
  }
  void TearDown() override {
    (void)::unsetenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
  }
  static std::string found(const std::string& name) {
    const auto folder = find_run(name);
    return folder ? folder->substr(folder->rfind('/') + 1) : folder.error().what;
  }
};

TEST(NewRunId, SortsByTimeToTheMillisecond) {
  const auto now = [] {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  };
  const std::string first = new_run_id();
  for (const auto start = now(); now() == start;) {
  }
  const std::string second = new_run_id();
  EXPECT_LT(first, second);
  EXPECT_EQ(second.size(), std::string("20261115-040812-3219a").size());
  EXPECT_EQ(second.find_first_not_of("0123456789abcdef", 16), std::string::npos);
}

TEST(NewRunId, TellsWhenItWasMade) {
  EXPECT_EQ(time_of_id("19700102-000001-3219a"), 86401);
  EXPECT_EQ(time_of_id("19700102-000001"), 0);
  EXPECT_EQ(time_of_id("my-run"), 0);
  EXPECT_EQ(time_of_id(""), 0);
}

TEST_F(Runs, HaveOneOwner) {
  const std::string folder = runs_folder() + "/2026-a";
  ASSERT_TRUE(write_owner(folder));
  EXPECT_EQ(living_owner(folder), ::getpid());
  const auto second = write_owner(folder);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().what, "another run has the same id");
}

TEST(AttemptId, IsReadBack) {
  EXPECT_EQ(attempt_id("r1", 0), "r1");
  EXPECT_EQ(attempt_id("r1", 2), "r1.2");
  EXPECT_EQ(parse_attempt("r1.2").base, "r1");
  EXPECT_EQ(parse_attempt("r1.2").number, 2);
  for (const char* none : {"r1", "r1.", "r1.x", "r1.0", "r1.2x"}) {
    EXPECT_EQ(parse_attempt(none).base, none);
    EXPECT_EQ(parse_attempt(none).number, 0);
  }
}

TEST_F(Runs, AreListedInTheOrderOfTheirAttempts) {
  const std::vector<std::string> ids = list_runs();
  ASSERT_EQ(ids.size(), 12U);
  EXPECT_EQ(ids[0], "2026-a");
  for (int i = 0; i <= 10; ++i)
    EXPECT_EQ(ids[static_cast<std::size_t>(i) + 1], attempt_id("2026-b", i));
  EXPECT_EQ(latest_attempt("2026-b"), 10);
  EXPECT_EQ(latest_attempt("2026-a"), 0);
  EXPECT_EQ(latest_attempt("2026"), -1);
}

TEST_F(Runs, AreFoundByTheBeginningOfTheirId) {
  EXPECT_EQ(found("2026-b"), "2026-b");
  EXPECT_EQ(found("2026-b.1"), "2026-b.1");
  EXPECT_EQ(found("last"), "2026-b.10");
  ASSERT_TRUE(make_run_folder("2027-long"));
  ASSERT_TRUE(make_run_folder("2027-long.1"));
  EXPECT_EQ(found("2027"), "2027-long");  // both are attempts of one run, so it is not ambiguous
  EXPECT_EQ(found("2026"), "'2026' could mean 2026-a or 2026-b");
}

TEST_F(Runs, OfWhichNoneWasStartedHaveNoLastOne) {
  ASSERT_EQ(::setenv("XDG_STATE_HOME", (folder_ + "/other").c_str(), 1),
            0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(found("last"), "there is no run on this machine yet");
  EXPECT_NE(find_run("last").error().hint.find("muster check shows its errors again"),
            std::string::npos);
  ASSERT_TRUE(make_run_folder("2026-a"));
  ASSERT_TRUE(make_run_folder("2026-c"));
  const auto last = find_run("last");
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().what,
            "no run on this machine has started its ranks yet, so 'last' means none");
  EXPECT_EQ(last.error().hint, "muster runs lists all runs; the newest one is 2026-c");
}

}  // namespace
}  // namespace muster::run
