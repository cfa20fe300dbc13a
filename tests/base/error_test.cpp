#include "base/error.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Error, NamesFileLineAndColumnFirst) {
  const Error error{.code = ErrorCode::kUsage,
                    .what = "no host name before ':'",
                    .where = {.file = "hosts.txt", .line = 3, .column = 7},
                    .hint = "write NAME:COUNT"};
  EXPECT_EQ(to_text(error), "hosts.txt:3:7: no host name before ':'\n  hint: write NAME:COUNT");
}

TEST(Error, TellsTheWholeChainOfCauses) {
  Error inner{.what = "connection refused", .where = {.host = "n2"}};
  const Error outer = because(std::move(inner), "cannot push the binary");
  EXPECT_EQ(to_text(outer), "cannot push the binary\n  because: n2: connection refused");
}

Result<int> half(int number) {
  if (number % 2 != 0) return unexpected(Error{.code = ErrorCode::kUsage, .what = "odd"});
  return number / 2;
}

Result<int> quarter(int number) {
  MUSTER_TRY(const int once, half(number));
  MUSTER_TRY(const int twice, half(once));
  return twice;
}

TEST(Error, TryPassesTheErrorOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  ASSERT_FALSE(quarter(6).has_value());
  EXPECT_EQ(quarter(6).error().what, "odd");
}

}  // namespace
}  // namespace muster
