#include "report/markup.hpp"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

TEST(Markup, EscapesWhatWouldLeaveItsPlace) {
  EXPECT_EQ(escaped("<script>alert(\"1\")</script>&'"),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
  EXPECT_EQ(escaped("caf\u00e9 \u4e2d \U0001F600"), "caf\u00e9 \u4e2d \U0001F600");
  EXPECT_EQ(escaped("a\x1b\x01\x7f"), "a\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escaped("\xff\xc3"), "\uFFFD\uFFFD");  // no UTF-8
  EXPECT_EQ(escaped("\xc0\xbc"), "\uFFFD\uFFFD");  // '<' in an overlong encoding
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\uFFFD");    // half a surrogate
  EXPECT_EQ(escaped("a\u202eb"), "a\uFFFDb");      // changes the writing direction
  EXPECT_EQ(escaped(std::string("a\0b", 3)),
            "a\uFFFD"
            "b");
  EXPECT_EQ(shortened("\u4e2d\u4e2d\u4e2d\u4e2d", 3), "\u4e2d\u2026\u4e2d");
  EXPECT_EQ(shortened("abc", 3), "abc");
}

}  // namespace
}  // namespace muster::report
