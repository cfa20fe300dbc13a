#include "cli/run_status.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

constexpr const char* kNotThere = "/proc/no-such-directory/status.json";

struct Concluded {
  Result<int> code;
  std::string said;
};

Concluded conclude_with(const Result<run::Ending>& result) {
  testing::internal::CaptureStderr();
  auto code = conclude(result, kNotThere, "r");
  return {.code = std::move(code), .said = testing::internal::GetCapturedStderr()};
}

TEST(RunStatus, AFileThatCannotBeWrittenIsReportedWhateverTheEnd) {
  const Concluded good = conclude_with(run::Ending{.code = 0});
  EXPECT_EQ(good.code.value_or(-1), 0);
  EXPECT_NE(good.said.find(kNotThere), std::string::npos) << good.said;
  const Concluded wrong =
      conclude_with(unexpected(Error{.code = ErrorCode::kUsage, .what = "no program"}));
  ASSERT_FALSE(wrong.code);
  EXPECT_EQ(wrong.code.error().what, "no program");
  EXPECT_NE(wrong.said.find(kNotThere), std::string::npos) << wrong.said;
}

TEST(RunStatus, AFileThatKeptTheRunFromBeginningIsReportedOnce) {
  const auto begun = begin_status(kNotThere, "r");
  ASSERT_FALSE(begun);
  const Concluded ended = conclude_with(unexpected(begun.error()));
  ASSERT_FALSE(ended.code);
  EXPECT_EQ(ended.code.error().code, ErrorCode::kUsage);
  EXPECT_EQ(ended.said, "");
}

}  // namespace
}  // namespace muster::cli
