#include "run/log_folds.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::run {
namespace {

class LogFoldsTest : public testing::Test {
 protected:
  std::string shown;
  LogFolds folds{[this](sys::Stream, std::string_view text) { shown += text; }, false};
};

TEST_F(LogFoldsTest, EqualLinesOfSeveralRanksAreShownOnce) {
  folds.take(sys::Stream::kOut, "[n1:0] epoch 1\n[n2:1] epoch 1\n[n1:0] epoch 2\n[n2:1] ep");
  folds.take(sys::Stream::kOut, "och 2\n[n2:1] only here\n");
  EXPECT_FALSE(folds.empty());
  folds.put_all();
  EXPECT_EQ(shown, "[n[1-2]:0-1] epoch 1\n[n[1-2]:0-1] epoch 2\n[n2:1] only here\n");
}

TEST_F(LogFoldsTest, TheStreamsAreKeptApart) {
  folds.take(sys::Stream::kOut, "[n1:0] x\n");
  folds.take(sys::Stream::kErr, "[n2:1] x\n");
  folds.put_all();
  EXPECT_EQ(shown, "[n1:0] x\n[n2:1] x\n");
}

TEST_F(LogFoldsTest, WhatHasNoLabelOrNoEndIsShownAsItIs) {
  folds.take(sys::Stream::kOut, "[n1:0] before\nno label\n[n1:0] unfinished");
  EXPECT_EQ(shown, "[n1:0] before\nno label\n");
  folds.put_all();
  EXPECT_EQ(shown, "[n1:0] before\nno label\n[n1:0] unfinished");
}

TEST_F(LogFoldsTest, OnlySoMuchWaits) {
  constexpr int kMany = 30'000;
  for (int i = 0; i < kMany; ++i) folds.take(sys::Stream::kOut, fmt::format("[n1:0] {}\n", i));
  EXPECT_GE(std::count(shown.begin(), shown.end(), '\n'), kMany - 20'001);
}

}  // namespace
}  // namespace muster::run
