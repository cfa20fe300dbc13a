#include "sys/tree.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/temp_folder.hpp"

namespace muster::sys {
namespace {

namespace fs = std::filesystem;

using Tree = FolderTest;

TEST_F(Tree, AFolderThatIsNotThereIsAUsageError) {
  const auto found = unreadable_below(folder_ + "/none");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kUsage);
  EXPECT_EQ(found.error().where.file, folder_ + "/none");
}

TEST_F(Tree, AFileInPlaceOfAFolderIsAUsageError) {
  std::ofstream(folder_ + "/file") << "x";
  const auto found = unreadable_below(folder_ + "/file");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kUsage);
}

TEST_F(Tree, NamesTheFilesWeMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::create_directories(folder_ + "/a/closed");
  std::ofstream(folder_ + "/a/secret") << "x";
  std::ofstream(folder_ + "/a/open") << "x";
  fs::permissions(folder_ + "/a/secret", fs::perms::none);
  fs::permissions(folder_ + "/a/closed", fs::perms::none);
  auto found = unreadable_below(folder_);
  fs::permissions(folder_ + "/a/closed", fs::perms::owner_all);
  ASSERT_TRUE(found.has_value());
  std::sort(found->begin(), found->end());
  EXPECT_EQ(*found, (std::vector{folder_ + "/a/closed", folder_ + "/a/secret"}));
}

TEST_F(Tree, LinksThatLeadNowhereAreFine) {
  fs::create_symlink("/no/such/place", folder_ + "/link");
  fs::create_symlink(folder_, folder_ + "/loop");
  const auto found = unreadable_below(folder_);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace muster::sys
