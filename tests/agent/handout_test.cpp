// The environment of a job goes from the warden to its ranks in memory and never through a file.
#include "agent/handout.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNever{0};
constexpr milliseconds kLong{60'000};

class HandoutTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/muster-test-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Asks the desk on a second thread, as a rank does, and returns the answer.
  [[nodiscard]] Result<HandedOut> ask(const HandoutDesk& desk) const {
    Result<HandedOut> handed = unexpected(Error{});
    std::jthread rank([&] { handed = ask_for_handout(folder_, kLong); });
    pollfd asked = desk.watched();
    EXPECT_EQ(::poll(&asked, 1, static_cast<int>(kLong.count())), 1);
    desk.serve();
    rank.join();
    return handed;
  }
  [[nodiscard]] std::string all_files() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  std::string folder_;
  Handout handout_{.variables = {"TOKEN=se=cret\n", "EMPTY="}, .activated = {{"PATH=/venv/bin"}}};
};

TEST_F(HandoutTest, EverybodyWhoAsksGetsAllOfIt) {
  HandoutDesk desk;
  ASSERT_TRUE(desk.open(folder_, handout_));
  for (int i = 0; i < 3; ++i) {
    const auto handed = ask(desk);
    ASSERT_TRUE(handed) << to_text(handed.error());
    EXPECT_EQ(handed->variables, (Environment{{"TOKEN", "se=cret\n"}, {"EMPTY", ""}}));
    EXPECT_EQ(handed->activated, (Environment{{"PATH", "/venv/bin"}}));
  }
  EXPECT_EQ(all_files(), "");
}

TEST_F(HandoutTest, NoActivationIsNotAnEmptyOne) {
  HandoutDesk desk;
  ASSERT_TRUE(desk.open(folder_, Handout{}));
  const auto handed = ask(desk);
  ASSERT_TRUE(handed);
  EXPECT_FALSE(handed->activated);
  EXPECT_TRUE(handed->variables.empty());
}

TEST_F(HandoutTest, AWardenThatReplacesAKilledOneSaysThatItHasNothing) {
  HandoutDesk desk;
  ASSERT_TRUE(desk.open(folder_, std::nullopt));
  const auto handed = ask(desk);
  ASSERT_FALSE(handed);
  EXPECT_NE(handed.error().what.find("was killed"), std::string::npos) << handed.error().what;
}

TEST_F(HandoutTest, WithoutAWardenTheWaitEnds) {
  EXPECT_FALSE(ask_for_handout(folder_, kNever));
}

TEST_F(HandoutTest, ARunByHandFindsItInPrivateFiles) {
  ASSERT_TRUE(leave_in_files(folder_, handout_));
  const auto handed = ask_for_handout(folder_, kNever);
  ASSERT_TRUE(handed);
  EXPECT_EQ(handed->variables.at("TOKEN"), "se=cret\n");
  EXPECT_EQ(handed->activated, (Environment{{"PATH", "/venv/bin"}}));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms(0600)) << entry.path();
  }
}

}  // namespace
}  // namespace muster::agent
