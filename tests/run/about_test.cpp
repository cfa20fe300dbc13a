#include "run/about.hpp"

#include <gtest/gtest.h>

#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

class AboutFiles : public sys::FolderTest {};

TEST_F(AboutFiles, OfAPodTellWhichRanksItHas) {
  const Record record{.ranks = {{.rank = 4, .host = "n2"}, {.rank = 5, .host = "n2"}}};
  ASSERT_TRUE(write_about(folder_, about(record, 90)));
  const About read = read_about(folder_).value();
  EXPECT_EQ(read.ranks, 2);
  EXPECT_EQ(read.rank_end, 6);
  EXPECT_EQ(read.orphan_after_s, 90);
}

TEST_F(AboutFiles, OfAnOlderMusterCountTheRanks) {
  const std::string old =
      R"({"schema": 1, "id": "", "name": "", "command": "", "engine": "", "started": 0,)"
      R"( "hosts": ["n1"], "ranks": 2})";
  ASSERT_TRUE(sys::write_file(folder_ + "/about.json", old, 0600));
  EXPECT_EQ(read_about(folder_).value().rank_end, 2);
  EXPECT_EQ(read_about(folder_).value().orphan_after_s, 0);
}

}  // namespace
}  // namespace muster::run
