#include "sys/path_search.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/temp_folder.hpp"

namespace muster::sys {
namespace {

using Folders = std::vector<std::string>;

class PathSearchTest : public FolderTest {
 protected:
  std::string make(const std::string& name, mode_t mode) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
};

TEST(PathFolders, EmptyAndRelativeEntriesBeginInTheFolder) {
  EXPECT_EQ(path_folders("/a:/b", "/job"), (Folders{"/a", "/b"}));
  EXPECT_EQ(path_folders("/a:bin:./x", "/job"), (Folders{"/a", "/job/bin", "/job/./x"}));
  EXPECT_EQ(path_folders(":/a", "/job"), (Folders{"/job", "/a"}));
  EXPECT_EQ(path_folders("/a::/b", "/job"), (Folders{"/a", "/job", "/b"}));
  EXPECT_EQ(path_folders("/a:", "/job"), (Folders{"/a", "/job"}));
  EXPECT_EQ(path_folders("", "/job"), (Folders{"/job"}));
}

TEST(PathFolders, EmptyEntriesAreLeftOutWithoutAFolder) {
  EXPECT_EQ(path_folders(":/a::bin:"), (Folders{"/a", "bin"}));
  EXPECT_EQ(path_folders(""), Folders{});
  EXPECT_EQ(path_folders(":"), Folders{});
}

TEST_F(PathSearchTest, TakesTheFirstThatCanBeExecuted) {
  make("data/tool", 0644);
  std::filesystem::create_directories(folder_ + "/folder/tool");
  const std::string first = make("one/tool", 0755);
  make("two/tool", 0755);
  const std::string path = "/nowhere:" + folder_ + "/data:" + folder_ + "/folder:" + folder_ +
                           "/one:" + folder_ + "/two";
  EXPECT_EQ(find_in_path("tool", path), first);
  EXPECT_EQ(find_in_path("other", path), "");
  EXPECT_EQ(find_in_path("", path), "");
  EXPECT_EQ(find_in_path("tool", ""), "");
}

TEST_F(PathSearchTest, APathIsNotSearchedFor) {
  const std::string tool = make("bin/tool", 0755);
  make("bin/data", 0644);
  EXPECT_EQ(find_in_path(tool, "/nowhere"), tool);
  EXPECT_EQ(find_in_path("bin/tool", "/nowhere", folder_), tool);
  EXPECT_EQ(find_in_path("./bin/tool", "/nowhere", folder_), folder_ + "/./bin/tool");
  EXPECT_EQ(find_in_path("./tool", folder_ + "/bin", folder_), "");
  EXPECT_EQ(find_in_path("bin/data", "/nowhere", folder_), "");
  EXPECT_EQ(find_in_path(folder_ + "/bin", "/nowhere"), "");  // a directory
}

TEST_F(PathSearchTest, LooksInTheFolderForEmptyEntriesOnly) {
  const std::string tool = make("tool", 0755);
  EXPECT_EQ(find_in_path("tool", "/nowhere:", folder_), tool);
  EXPECT_EQ(find_in_path("tool", "", folder_), tool);
  EXPECT_EQ(find_in_path("tool", "/nowhere", folder_), "");
}

TEST(FindProgram, LooksInOurOwnPath) {
  const auto shell = find_program("sh");
  ASSERT_TRUE(shell);
  EXPECT_TRUE(is_program(*shell));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("muster-no-such-program"));
  EXPECT_FALSE(find_program("/bin"));
}

}  // namespace
}  // namespace muster::sys
