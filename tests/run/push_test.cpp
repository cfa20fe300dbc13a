#include "run/push.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

constexpr const char* kFolder = "of_both_builds";  // a name that is not the hash of a build

// Runs the command lines in a real shell. A small script takes the place of muster's binary.
class PushTest : public sys::FolderTest {
 protected:
  [[nodiscard]] int shell(const std::string& line, const std::string& input = {}) const {
    const auto ended = sys::run(
        {.argv = {"/bin/sh", "-c", line}, .input = std::make_shared<const std::string>(input)});
    return ended ? ended->code : -1;
  }
  [[nodiscard]] int push(const std::string& content) const {
    return shell(push_line(base_, kFolder, binary_), content);
  }

  const std::string base_ = folder_ + "/base";
  std::string content_ = "#!/bin/sh\n[ $# = 2 ] && echo abc123 || exit 42\n";
  Binary binary_{.hash = "abc123", .bytes = content_.size()};
};

TEST_F(PushTest, BringsTheBinaryOnceAndThenRunsIt) {
  EXPECT_EQ(shell(agent_line(base_, kFolder)), kNotThere);
  EXPECT_EQ(push(content_), 0);
  struct stat status = {};
  ASSERT_EQ(::stat(binary_path(base_, kFolder).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  ASSERT_EQ(::stat(base_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  // The script ran with the single argument `agent`.
  EXPECT_EQ(shell(agent_line(base_, kFolder)), 42);
}

TEST_F(PushTest, ATruncatedOrForeignBinaryIsNotKept) {
  EXPECT_EQ(push(content_.substr(0, 20)), kCannotRun);
  binary_.hash = "other";
  EXPECT_EQ(push(content_), kCannotRun);
  EXPECT_EQ(shell(agent_line(base_, kFolder)), kNotThere);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(base_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 0U);
}

TEST_F(PushTest, AHostWithoutTheBinaryTellsItsMachine) {
  ASSERT_TRUE(sys::make_folders(folder_ + "/bin", 0700));
  ASSERT_TRUE(
      sys::write_file(folder_ + "/bin/uname", "#!/bin/sh\n[ $* = -m ] && echo arm64\n", 0700));
  const std::string path = "PATH=" + folder_ + "/bin:$PATH; export PATH; ";
  const auto ended =
      sys::run({.argv = {"/bin/sh", "-c", path + "echo hello >&2; " + agent_line(base_, kFolder)}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, kNotThere);
  EXPECT_EQ(told_machine(ended->err), "arm64");
}

TEST(ToldMachine, IsInTheLastLineOfItsKind) {
  EXPECT_EQ(told_machine(""), "");
  EXPECT_EQ(told_machine("muster-machine "), "");
  EXPECT_EQ(told_machine("x86_64\nmuster-machine"), "");
  EXPECT_EQ(told_machine("motd\nmuster-machine a\nmuster-machine b\nsrun: error: n1\n"), "b");
}

TEST_F(PushTest, AFolderThatOthersCanWriteIsRefused) {
  ASSERT_EQ(::mkdir(base_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(base_.c_str(), 0777), 0);
  EXPECT_EQ(push(content_), kNotOurs);
  EXPECT_EQ(shell(agent_line(base_, kFolder)), kNotOurs);
}

TEST_F(PushTest, ALinkInItsPlaceIsRefused) {
  ASSERT_EQ(::mkdir((folder_ + "/elsewhere").c_str(), 0700), 0);
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere", base_);
  EXPECT_EQ(push(content_), kNotOurs);
  EXPECT_EQ(shell(agent_line(base_, kFolder)), kNotOurs);
}

}  // namespace
}  // namespace muster::run
