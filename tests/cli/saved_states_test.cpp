#include "cli/saved_states.hpp"

#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::cli {
namespace {

class SavedStates : public sys::FolderTest {
 protected:
  void SetUp() override {
    (void)::setenv("XDG_STATE_HOME", folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override {
    (void)::unsetenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
  }
};

Result<void> put_facts(facts::SavedState& state) {
  state.facts = facts::Facts{.host = state.host, .hostname = "node"};
  return {};
}

Result<void> add_a_rate(facts::SavedState& state) {
  state.rates.push_back({.to = std::to_string(state.rates.size()), .bytes_per_second = 1e9});
  return {};
}

TEST_F(SavedStates, AreReadBackForHostsOfAnyName) {
  const std::vector<std::string> hosts = {
      "n1",           "198.18.0.1",          "fd00::1",
      "fe80::1%eth0", std::string(253, 'a'), std::string(252, 'a') + "b"};
  EXPECT_FALSE(has_saved_states());
  EXPECT_TRUE(read_saved_states(hosts).empty());
  const auto result = update_saved_states(hosts, put_facts);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->saved, hosts);
  EXPECT_TRUE(report_not_saved(*result));
  const auto states = read_saved_states(hosts);
  ASSERT_EQ(states.size(), hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    EXPECT_EQ(states[i].host, hosts[i]);
    EXPECT_EQ(states[i].problem, "");
  }
  EXPECT_TRUE(std::filesystem::exists(saved_states_folder() + "/fe80::1%25eth0.json"));
  EXPECT_TRUE(has_saved_states());
}

TEST_F(SavedStates, KeepTheHalfThatAnotherCommandSaved) {
  ASSERT_TRUE(update_saved_states({"n1"}, put_facts));
  ASSERT_TRUE(update_saved_states({"n1"}, add_a_rate));
  const auto states = read_saved_states({"n1"});
  ASSERT_EQ(states.size(), 1U);
  EXPECT_TRUE(states[0].facts.has_value());
  EXPECT_EQ(states[0].rates.size(), 1U);
}

TEST_F(SavedStates, LoseNothingToTwoWriters) {
  constexpr int kTimes = 5;
  constexpr std::chrono::minutes kPatience{10};  // a busy disk is slow
  const auto write = [&] {
    for (int i = 0; i < kTimes; ++i)
      EXPECT_TRUE(update_saved_states({"n1"}, add_a_rate, kPatience));
  };
  std::thread other(write);
  write();
  other.join();
  EXPECT_EQ(read_saved_states({"n1"}).at(0).rates.size(), 2U * kTimes);
}

TEST_F(SavedStates, AreNotWrittenWhileAnotherProcessHoldsTheLock) {
  ASSERT_TRUE(update_saved_states({"n1"}, put_facts));
  const sys::Fd fd(::open(saved_states_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(fd.get(), LOCK_EX), 0);
  const auto result = update_saved_states({"n1"}, add_a_rate, std::chrono::milliseconds(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(read_saved_states({"n1"}).at(0).rates.empty());
}

TEST_F(SavedStates, ThatCannotBeReadStayAndOthersAreSaved) {
  const std::vector<std::string> hosts = {"n1", "n2", "n3"};
  ASSERT_TRUE(update_saved_states(hosts, put_facts));
  const std::string damaged = saved_states_folder() + "/n1.json";
  ASSERT_TRUE(sys::write_file(damaged, "{", 0600));
  const auto result = update_saved_states(hosts, [](facts::SavedState& state) -> Result<void> {
    if (state.host == "n2") return unexpected(Error{.what = "no"});
    return add_a_rate(state);
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->saved, std::vector<std::string>{"n3"});
  ASSERT_EQ(result->failed.size(), 2U);
  EXPECT_EQ(result->failed[0].first, "n1");
  EXPECT_EQ(result->failed[0].second.where.file, damaged);
  EXPECT_FALSE(report_not_saved(*result));
  EXPECT_EQ(*sys::read_file(damaged), "{");
  const auto states = read_saved_states(hosts);
  EXPECT_NE(states[0].problem, "");
  EXPECT_TRUE(states[1].rates.empty());
  EXPECT_TRUE(states[2].facts && states[2].rates.size() == 1);
}

TEST(ChooseToSave, LeavesOutHostsWithErrorsAndThoseThatWereNotExamined) {
  std::vector<facts::Survey> surveys;
  for (const char* name : {"n1", "n2", "n3", "n4"}) {
    surveys.push_back({.host = name, .facts = facts::Facts{.host = name}});
  }
  surveys.push_back({.host = "away", .facts = unexpected(Error{.what = "no answer"})});
  const layout::Layout layout{.placements = {{.host = "n1"}, {.host = "n2"}, {.host = "away"}}};
  std::vector<checks::Finding> findings = {
      {.id = "x", .severity = checks::Severity::kError, .hosts = {"n2", "n4"}, .what = "w"},
      {.id = "x", .severity = checks::Severity::kWarning, .hosts = {"n1"}, .what = "w"}};
  using Names = std::vector<std::string>;
  const SaveChoice choice = choose_to_save(surveys, layout, findings, false);
  EXPECT_EQ(choice.wanted, Names{"n1"});
  EXPECT_EQ(choice.with_errors, Names{"n2"});
  EXPECT_EQ(choice.unexamined, (Names{"n3", "n4"}));
  const SaveChoice forced = choose_to_save(surveys, layout, findings, true);
  EXPECT_EQ(forced.wanted, (Names{"n1", "n2"}));
  EXPECT_EQ(forced.unexamined, choice.unexamined);
  findings.push_back({.id = "x", .severity = checks::Severity::kError, .hosts = {}, .what = "w"});
  EXPECT_TRUE(choose_to_save(surveys, layout, findings, false).wanted.empty());
}

}  // namespace
}  // namespace muster::cli
