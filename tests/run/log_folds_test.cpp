#include "run/log_folds.hpp"

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

}  // namespace
}  // namespace muster::run
