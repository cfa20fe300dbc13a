#include "remote/bring_back.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "remote/has_word.hpp"
#include "remote/merge.hpp"
#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

TEST(BackWords, NeitherLinksNorDevicesNorOwnersAreTakenOver) {
  const std::vector<std::string> ssh = {"ssh", "-T"};
  const auto words = back_words({.from = "/out", .to = "/here"}, ssh, "n1", "/here/n1", true);
  EXPECT_EQ(words[1], "-rtE");
  EXPECT_TRUE(has_word(words, "--whole-file"));  // so no checksum of a local file goes to the host
  EXPECT_EQ(words[words.size() - 2], "n1:/out/");
  EXPECT_EQ(words.back(), "/here/n1/");
}

TEST(LeftOut, AreTheLinksThatRsyncSkipped) {
  EXPECT_EQ(
      left_out("skipping non-regular file \"latest\"\nskipping non-regular file \"a\x1b[2J\"\n"
               "\nNumber of files: 3\n"),
      (std::vector<std::string>{"latest", "a?[2J"}));
}

// Runs the commands locally: every host is this machine, with a folder of its own.
class Hosts : public Transport {
 public:
  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override {
    std::vector<Outcome> outcomes;
    for (const Task& task : tasks) {
      outcomes.push_back(
          {task.host, sys::run({.argv = {"sh", "-c", task.command}, .deadline = deadline})});
    }
    return outcomes;
  }
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop&, SessionPlan) override { return nullptr; }
  void forget(const std::string&) override {}
  // Like ssh: the words that follow are a host and a command.
  [[nodiscard]] std::vector<std::string> shell() const override { return shell_words; }
  [[nodiscard]] Silence silence(const std::string&) const override { return {}; }

  std::vector<std::string> shell_words = {"sh", "-c", "eval \"$*\""};
};

class Back : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  static void write(const std::string& file, const std::string& content) {
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << content;
  }
  static std::string read(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  Result<std::vector<Outcome>> bring(BringBack what) {
    what.from = path("out");
    what.to = path("home");
    const std::vector<std::string> hosts = {"n1"};
    return bring_back(what, transport_, hosts, signal_);
  }

  Hosts transport_;
  int signal_ = 0;

 private:
  sys::TempFolder folder_;
};

TEST_F(Back, FilesComeButLinksDoNot) {
  write(path("out/deep/loss"), "0.4");
  write(path("secret"), "mine");
  fs::create_symlink(path("secret"), path("out/latest"));
  const auto outcomes = bring({});
  ASSERT_TRUE(outcomes) << to_text(outcomes.error());
  ASSERT_TRUE(outcomes->front().ended) << to_text(outcomes->front().ended.error());
  EXPECT_EQ(read(path("home/deep/loss")), "0.4");
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("home/latest"))));
  EXPECT_EQ(left_out(outcomes->front().ended->out), std::vector<std::string>{"latest"});
  EXPECT_FALSE(fs::exists(path("home/") + kStaging));
}

TEST_F(Back, AHostsFolderMustNotBeALink) {
  write(path("out/x"), "evil");
  fs::create_directories(path("outside"));
  fs::create_directories(path("home"));
  fs::create_directory_symlink(path("outside"), path("home/n1"));
  EXPECT_FALSE(bring({.per_host = true}));
  fs::remove(path("home/n1"));
  fs::create_directory_symlink(path("outside"), path("home/") + kStaging);
  EXPECT_FALSE(bring({}));
  EXPECT_TRUE(fs::is_empty(path("outside")));
}

TEST_F(Back, NoLinkInAHostsFolderIsFollowed) {
  write(path("out/keys/authorized"), "evil");
  fs::create_directories(path("outside"));
  fs::create_directories(path("home/n1"));
  fs::create_directory_symlink(path("outside"), path("home/n1/keys"));
  const auto outcomes = bring({.per_host = true});
  ASSERT_TRUE(outcomes) << to_text(outcomes.error());
  ASSERT_FALSE(outcomes->front().ended);
  EXPECT_NE(outcomes->front().ended.error().what.find("home/n1/keys: this is a symbolic link"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(path("outside")));
  EXPECT_TRUE(fs::is_symlink(path("home/n1/keys")));
}

TEST_F(Back, AHostsOwnFolderGetsWhatChanged) {
  write(path("out/a"), "1");
  for (const char* content : {"1", "two"}) {
    write(path("out/b"), content);
    const auto outcomes = bring({.per_host = true});
    ASSERT_TRUE(outcomes && outcomes->front().ended);
    EXPECT_EQ(read(path("home/n1/a")) + read(path("home/n1/b")), std::string("1") + content);
  }
  const auto again = bring({.per_host = true});
  EXPECT_NE(again->front().ended->out.find("regular files transferred: 0"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("home/") + kStaging));
}

TEST_F(Back, LeftoversOfAKilledCallAreNoResults) {
  write(path("out/x"), "1");
  for (const char* host : {"/n1", "/n2"}) write(path("home/") + kStaging + host + "/stale", "old");
  ASSERT_TRUE(bring({}));
  EXPECT_EQ(read(path("home/x")), "1");
  EXPECT_FALSE(fs::exists(path("home/stale")));
  EXPECT_FALSE(fs::exists(path("home/") + kStaging));
}

TEST_F(Back, AFileWithTheNameOfTheStagingFolderStays) {
  write(path("out/x"), "1");
  write(path("home/") + kStaging, "mine");
  EXPECT_FALSE(bring({}));
  EXPECT_EQ(read(path("home/") + kStaging), "mine");
}

TEST_F(Back, TwoCallsDoNotWriteToOneFolder) {
  write(path("out/x"), "1");
  fs::create_directories(path("home"));
  const sys::Fd other(::open(path("home").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const auto outcomes = bring({});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().what, "another muster sync --back is writing to this directory");
  EXPECT_TRUE(fs::is_empty(path("home")));
}

TEST_F(Back, ASignalLeavesNothingBehind) {
  write(path("out/x"), "1");
  transport_.shell_words = {"sh", "-c", "kill -INT $0; exec cat >/dev/null",
                            std::to_string(::getpid())};
  const auto outcomes = bring({});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().what, "interrupted; nothing was changed");
  EXPECT_EQ(signal_, SIGINT);
  EXPECT_TRUE(fs::is_empty(path("home")));
}

TEST_F(Back, NothingIsWrittenInADryRun) {
  write(path("out/x"), "1");
  for (const bool per_host : {false, true}) {
    ASSERT_TRUE(bring({.per_host = per_host, .dry_run = true}));
  }
  EXPECT_FALSE(fs::exists(path("home")));
}

TEST_F(Back, AFolderThatNoHostHasIsAnError) {
  const auto outcomes = bring({});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().what, "none of the hosts has this directory");
  EXPECT_FALSE(fs::exists(path("home")));
}

}  // namespace
}  // namespace muster::remote
