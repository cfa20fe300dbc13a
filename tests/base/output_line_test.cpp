#include "base/output_line.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(OutputLine, RanksAreShortened) {
  EXPECT_EQ(ranks_text({}), "");
  EXPECT_EQ(ranks_text({3}), "3");
  EXPECT_EQ(ranks_text({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}

TEST(OutputLine, TheLabelIsTakenOff) {
  const auto one = take_label("[n1:3] [x:1] text");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->hosts, "n1");
  EXPECT_EQ(one->ranks, "3");
  EXPECT_EQ(one->text, "[x:1] text");
  const auto several = take_label("[n[1-4,7]:0-31,56] text");
  ASSERT_TRUE(several);
  EXPECT_EQ(several->hosts, "n[1-4,7]");
  EXPECT_EQ(several->ranks, "0-31,56");
  EXPECT_EQ(take_label("[fe80::1:3] x")->hosts, "fe80::1");
  for (const char* const none :
       {"", "text", "[n1:3]", "[n1:3]x", "[n1] x", "[n1:3 x", "[[[", " [n1:3] x"}) {
    EXPECT_FALSE(take_label(none)) << none;
  }
}

}  // namespace
}  // namespace muster
