#include "sys/file.hpp"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::sys {
namespace {

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = ::testing::TempDir() + "muster-file-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(FileTest, WritesWithTheModeAskedForWhateverTheUmask) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(write_file(folder_ + "/key", "secret", 0600).has_value());
  ::umask(0077);
  ASSERT_TRUE(write_file(folder_ + "/public", "open", 0644).has_value());
  ::umask(before);
  EXPECT_EQ(mode_of(folder_ + "/key"), 0600U);
  EXPECT_EQ(mode_of(folder_ + "/public"), 0644U);
  EXPECT_EQ(read_file(folder_ + "/key").value(), "secret");
}

TEST_F(FileTest, ReplacesALinkInsteadOfWritingThroughIt) {
  ASSERT_TRUE(write_file(folder_ + "/target", "mine", 0600).has_value());
  ASSERT_EQ(::symlink("target", (folder_ + "/link").c_str()), 0);
  ASSERT_TRUE(write_file(folder_ + "/link", "new", 0600).has_value());
  EXPECT_EQ(read_file(folder_ + "/target").value(), "mine");
  EXPECT_EQ(read_file(folder_ + "/link").value(), "new");
}

TEST_F(FileTest, LeavesNothingBehindWhenItCannotWrite) {
  ASSERT_TRUE(make_folders(folder_ + "/taken/inside", 0700).has_value());
  const auto written = write_file(folder_ + "/taken", "x", 0600);  // a folder is in the way
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().where.file, folder_ + "/taken");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) entries += entry.exists();
  EXPECT_EQ(entries, 1);
}

TEST_F(FileTest, RefusesAFileLongerThanTheLimit) {
  ASSERT_TRUE(write_file(folder_ + "/long", std::string(100, 'x'), 0600).has_value());
  EXPECT_TRUE(read_file(folder_ + "/long", 100).has_value());
  EXPECT_FALSE(read_file(folder_ + "/long", 99).has_value());
  EXPECT_FALSE(read_file("/dev/zero", 1000).has_value());
}

TEST_F(FileTest, MakesFoldersWithTheirModeAndLeavesOldOnesAlone) {
  ASSERT_TRUE(make_folders(folder_ + "/a", 0755).has_value());
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c", 0700).has_value());
  EXPECT_EQ(mode_of(folder_ + "/a"), 0755U);
  EXPECT_EQ(mode_of(folder_ + "/a/b"), 0700U);
  EXPECT_EQ(mode_of(folder_ + "/a/b/c"), 0700U);
}

TEST_F(FileTest, RefusesAPrivateFolderThatOthersCanEnter) {
  EXPECT_TRUE(make_private_folder(folder_ + "/mine").has_value());
  EXPECT_TRUE(make_private_folder(folder_ + "/mine").has_value());
  ASSERT_EQ(::chmod((folder_ + "/mine").c_str(), 0750), 0);
  EXPECT_FALSE(make_private_folder(folder_ + "/mine").has_value());
  ASSERT_EQ(::symlink("mine", (folder_ + "/link").c_str()), 0);
  EXPECT_FALSE(make_private_folder(folder_ + "/link").has_value());
}

}  // namespace
}  // namespace muster::sys
