#include "remote/merge.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

class Merge : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(to()); }

  [[nodiscard]] fs::path to() const { return fs::path(folder_.path()) / "to"; }
  [[nodiscard]] fs::path outside() const { return fs::path(folder_.path()) / "outside"; }

  void received(const std::string& host, const std::string& path, const std::string& content) {
    write(copy(host) / path, content);
  }
  static void write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] fs::path copy(const std::string& host) const {
    return fs::path(folder_.path()) / "copies" / host;
  }
  Result<void> merge_hosts(const std::vector<std::string>& hosts) const {
    std::vector<Received> all;
    for (const std::string& host : hosts) {
      fs::create_directories(copy(host));
      all.push_back({host, copy(host).string()});
    }
    return merge(all, to().string());
  }

 private:
  sys::TempFolder folder_;
};

TEST_F(Merge, PutsTheFilesOfAllHostsTogetherAndKeepsTheOthers) {
  received("n1", "rank0/loss.txt", "0.4");
  received("n2", "rank1/loss.txt", "0.5");
  received("n1", "config", "equal");
  received("n2", "config", "equal");
  write(to() / "config", "old");
  write(to() / "mine", "kept");
  ASSERT_TRUE(merge_hosts({"n1", "n2"}));
  EXPECT_EQ(read(to() / "rank0/loss.txt") + read(to() / "rank1/loss.txt"), "0.40.5");
  EXPECT_EQ(read(to() / "config"), "equal");
  EXPECT_EQ(read(to() / "mine"), "kept");
}

TEST_F(Merge, RefusesDifferentFilesOfOneNameAndChangesNothing) {
  received("n1", "a", "1");
  received("n1", "log", "one");
  received("n2", "log", "two");
  const auto merged = merge_hosts({"n1", "n2"});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().what.find("n1 and n2 have different files"), std::string::npos);
  EXPECT_NE(merged.error().hint.find("--per-host"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(to()));
}

TEST_F(Merge, AHostThatStillHasTheFileOfThisMachineHasNothingNew) {
  write(to() / "weights0", "of yesterday");
  write(to() / "weights1", "of yesterday");
  received("n1", "weights0", "new of n1");
  received("n1", "weights1", "of yesterday");
  received("n2", "weights0", "of yesterday");
  received("n2", "weights1", "new of n2");
  ASSERT_TRUE(merge_hosts({"n1", "n2"}));
  EXPECT_EQ(read(to() / "weights0") + ", " + read(to() / "weights1"), "new of n1, new of n2");
}

TEST_F(Merge, TwoHostsWithSomethingNewAreStillDifferent) {
  write(to() / "log", "of yesterday");
  received("n1", "log", "of yesterday");
  received("n2", "log", "two");
  received("n3", "log", "three");
  const auto merged = merge_hosts({"n1", "n2", "n3"});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().what.find("n2 and n3 have different files"), std::string::npos);
  EXPECT_EQ(read(to() / "log"), "of yesterday");
}

TEST_F(Merge, AFileHereAndAFolderThereAreDifferentToo) {
  received("n1", "x", "file");
  received("n2", "x/y", "below a folder");
  EXPECT_FALSE(merge_hosts({"n1", "n2"}));
  EXPECT_FALSE(merge_hosts({"n2", "n1"}));
}

TEST_F(Merge, FollowsNoLinkOutOfTheTarget) {
  fs::create_directories(outside());
  fs::create_directory_symlink(outside(), to() / "keys");
  received("n1", "a", "1");
  received("n1", "keys/authorized_keys", "evil");
  const auto merged = merge_hosts({"n1"});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().what.find("a symbolic link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(outside()));
  EXPECT_FALSE(fs::exists(to() / "a"));
}

TEST_F(Merge, ReplacesALinkInThePlaceOfAFileAndNotWhatItLeadsTo) {
  write(outside() / "secret", "mine");
  fs::create_symlink(outside() / "secret", to() / "result");
  received("n1", "result", "theirs");
  ASSERT_TRUE(merge_hosts({"n1"}));
  EXPECT_EQ(read(outside() / "secret"), "mine");
  EXPECT_FALSE(fs::is_symlink(to() / "result"));
  EXPECT_EQ(read(to() / "result"), "theirs");
}

TEST_F(Merge, TakesOverNeitherLinksNorPipesNorAStagingFolder) {
  fs::create_directories(copy("n1"));
  fs::create_directories(outside());
  fs::create_directory_symlink(outside(), copy("n1") / "link");
  ASSERT_EQ(::mkfifo((copy("n1") / "pipe").c_str(), 0600), 0);
  received("n1", std::string(kStaging) + "/n2/evil", "x");
  write(outside() / "file", "");
  ASSERT_TRUE(merge_hosts({"n1"}));
  EXPECT_TRUE(fs::is_empty(to()));
}

}  // namespace
}  // namespace muster::remote
