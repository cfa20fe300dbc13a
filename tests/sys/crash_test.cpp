// Crashes, a full disk and bad sectors at every call of write_file and create_file. Also checks
// that crash_states.hpp finds the states in which a careless writer would lose data.
#include <algorithm>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/crash_states.hpp"
#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::sys {
namespace {

using test::State;
using test::Trouble;

class Crash : public FolderTest {
 protected:
  const std::string path_ = folder_ + "/file";

  static std::string content(const State& state) {
    const auto file = state.tree.find("file");
    return file == state.tree.end() ? "absent" : file->second.content;
  }
  // Returns the contents that the file may have after a crash.
  std::vector<std::string> contents_after(const test::Work& work) const {
    std::vector<std::string> all;
    for (const State& state : test::watch(folder_, work).states) all.push_back(content(state));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
};

using Contents = std::vector<std::string>;

TEST_F(Crash, AWriterThatTruncatesLosesTheFile) {
  ASSERT_TRUE(write_file(path_, "old", 0600));
  const auto careless = [this] {
    const Fd fd(::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    return write_all(fd.get(), "abcd") == 4 && ::fsync(fd.get()) == 0 ? 0 : 1;
  };
  EXPECT_EQ(contents_after(careless), (Contents{"", "ab", "abcd", "old"}));
}

TEST_F(Crash, ARenameBeforeTheSyncLosesTheFile) {
  ASSERT_TRUE(write_file(path_, "old", 0600));
  const auto careless = [this] {
    const std::string draft = path_ + ".new";
    const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return write_all(fd.get(), "new") == 3 ? ::rename(draft.c_str(), path_.c_str()) : 1;
  };
  EXPECT_EQ(contents_after(careless), (Contents{"", "old"}));
}

TEST_F(Crash, ProgramsOfAShellAreWatchedToo) {
  const std::string script = "cd " + folder_ + " && cp /dev/null copy && echo new | cat >file";
  const auto shell = [&script] { return ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr); };
  EXPECT_EQ(contents_after(shell), (Contents{"", "absent", "ne"}));
  EXPECT_EQ(read_file(path_).value(), "new\n");
}

TEST_F(Crash, WriteFileLeavesTheOldOrTheNewContent) {
  const auto write = [this] { return write_file(path_, "new", 0640) ? 0 : 1; };
  ASSERT_TRUE(write_file(path_, "old", 0600));
  const auto watched = test::watch(folder_, write);
  EXPECT_EQ(watched.status, 0);
  EXPECT_GE(watched.calls, 6);
  for (const State& state : watched.states) {
    const test::Node& node = state.tree.at("file");
    EXPECT_EQ(node, node.content == "old" ? (test::Node{S_IFREG | 0600, "old"})
                                          : (test::Node{S_IFREG | 0640, "new"}))
        << state.when;
  }
  EXPECT_EQ(watched.states.back().tree.at("file").content, "new") << "it is there to stay";
}

TEST_F(Crash, WriteFileInTroubleSaysSoAndLeavesNothingElse) {
  const auto write = [this] { return write_file(path_, "new", 0600) ? 0 : 1; };
  for (const Trouble trouble : {Trouble::full_disk, Trouble::bad_sector}) {
    const long calls = test::count_calls(folder_, write, trouble);
    EXPECT_GE(calls, 6);
    for (long at = 1; at <= calls; ++at) {
      ASSERT_TRUE(write_file(path_, "old", 0600));
      const auto watched = test::run_in_trouble(folder_, write, trouble, at);
      EXPECT_TRUE(watched.status == 0 || test::read_tree(folder_).size() == 2) << "call " << at;
      const std::string content = read_file(path_).value();
      EXPECT_TRUE(content == "new" || (content == "old" && watched.status != 0)) << "call " << at;
    }
  }
}

TEST_F(Crash, CreateFileMakesAWholeFileOrNone) {
  const auto create = [this] { return create_file(path_, "new", 0600).value_or(false) ? 0 : 1; };
  EXPECT_EQ(contents_after(create), (Contents{"absent", "new"}));
  EXPECT_EQ(test::read_tree(folder_).size(), 2U) << "no temporary file stays";
  EXPECT_FALSE(create_file(path_, "other", 0600).value());
  EXPECT_EQ(read_file(path_).value(), "new");
}

}  // namespace
}  // namespace muster::sys
