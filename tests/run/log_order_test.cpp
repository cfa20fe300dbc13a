#include "run/log_order.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "run/output.hpp"
#include "run/streams.hpp"
#include "sys/clock.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

using LogOrderTest = sys::FolderTest;

void add_to(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

// Returns everything new that the log passes to a reader, on both streams, in the order received.
std::string all_of(StoredLog& log, bool and_rest) {
  std::string text;
  const auto take = [&](sys::Stream, std::string_view bytes) {
    text += bytes;
    return true;
  };
  log.read_new(take);
  if (and_rest) log.read_rest(take);
  return text;
}

std::string all_of(const std::string& folder, double since_s = 0) {
  StoredLog log(folder, since_s);
  return all_of(log, true);
}

TEST(OrderEntry, IsReadBack) {
  const OrderEntry entry{.unix_s = 1763457000.125, .stream = kErr, .end = 4096};
  EXPECT_EQ(to_line(entry), "1763457000.125 err 4096\n");
  EXPECT_EQ(parse_order_entry("1763457000.125 err 4096"), entry);
  for (const char* none : {"", "1", "1 2", "1 out", "1 out x", "x out 1", "1 log 1", "1 out -1",
                           "1 out 1 ", "1  1", "1 out 99999999999999999999999"}) {
    EXPECT_FALSE(parse_order_entry(none)) << none;
  }
}

TEST_F(LogOrderTest, BothStreamsOfAllRanksComeInTheOrderOfTheirArrival) {
  const auto output = Output::open(folder_, 2, {[](auto, const auto&) {}});
  EXPECT_TRUE((*output)->take("n1", {.rank = 0, .stream = kOut, .at = 0, .bytes = "a\n"}));
  EXPECT_TRUE((*output)->take("n2", {.rank = 1, .stream = kErr, .at = 0, .bytes = "b\n"}));
  EXPECT_TRUE((*output)->take("n1", {.rank = 0, .stream = kErr, .at = 0, .bytes = "c\n"}));
  EXPECT_TRUE((*output)->take("n2", {.rank = 1, .stream = kOut, .at = 0, .bytes = "d\n"}));
  EXPECT_EQ(all_of(folder_), "[n1:0] a\n[n2:1] b\n[n1:0] c\n[n2:1] d\n");
}

// One reader follows from the start. Others start at any time and read everything.
TEST_F(LogOrderTest, ReadersOfAGrowingLogGetEachLineOnce) {
  constexpr int kLinesOfAll = 10'000;
  const auto output = Output::open(folder_, 2, {[](auto, const auto&) {}});
  StoredLog follower(folder_);
  std::string followed, written;
  std::uint64_t at[2] = {0, 0};
  for (int i = 0; i < kLinesOfAll; ++i) {
    const auto stream = i % 3 == 0 ? kErr : kOut;
    std::uint64_t& from = at[stream == kErr ? 1 : 0];
    const std::string line = std::to_string(i) + "\n";
    ASSERT_TRUE((*output)->take("n1", {.rank = 0, .stream = stream, .at = from, .bytes = line}));
    from += line.size();
    written += "[n1:0] " + line;
    if (i % 97 == 0) followed += all_of(follower, false);
    if (i % 2500 == 0) {
      EXPECT_EQ(all_of(folder_), written);
    }
  }
  followed += all_of(follower, true);
  EXPECT_TRUE(followed == written);
  EXPECT_TRUE(all_of(folder_) == written);
}

TEST_F(LogOrderTest, AnEntryThatIsHalfWrittenWaitsForItsRest) {
  add_to(folder_ + "/out", "one\ntwo\n");
  add_to(folder_ + "/order", "1.000 out 4\n2.000 ou");
  StoredLog log(folder_);
  EXPECT_EQ(all_of(log, false), "one\n");
  add_to(folder_ + "/order", "t 8\n");
  EXPECT_EQ(all_of(log, false), "two\n");
}

TEST_F(LogOrderTest, WhatNoEntryCoversComesAtTheEnd) {
  add_to(folder_ + "/out", "one\ntwo\n");
  add_to(folder_ + "/err", "three\n");
  EXPECT_EQ(all_of(folder_), "one\ntwo\nthree\n") << "of a muster that wrote no entries";
  add_to(folder_ + "/order", "1.000 out 4\nnonsense\n1.500 err 6\n");
  EXPECT_EQ(all_of(folder_), "one\nthree\ntwo\n") << "muster was killed after it wrote \"two\"";
}

TEST_F(LogOrderTest, AnEntryThatIsMissingIsCoveredByTheNext) {
  add_to(folder_ + "/out", "one\ntwo\nthree\n");
  add_to(folder_ + "/order", "1.000 out 4\n3.000 out 14\n");
  StoredLog log(folder_);
  EXPECT_EQ(all_of(log, false), "one\ntwo\nthree\n");
}

TEST_F(LogOrderTest, OldOutputIsLeftOut) {
  add_to(folder_ + "/out", "one\ntwo\n");
  add_to(folder_ + "/err", "three\n");
  add_to(folder_ + "/order", "100.000 out 4\n200.000 err 6\n300.000 out 8\n");
  EXPECT_EQ(all_of(folder_, 150), "three\ntwo\n");
  EXPECT_EQ(all_of(folder_, 300), "two\n");
  EXPECT_EQ(all_of(folder_, 301), "");
}

TEST_F(LogOrderTest, AClockThatWasSetBackLosesNothing) {
  add_to(folder_ + "/out", "one\ntwo\nthree\n");
  add_to(folder_ + "/order", "100.000 out 4\n300.000 out 8\n150.000 out 14\n");
  EXPECT_EQ(all_of(folder_, 200), "two\nthree\n");
}

TEST_F(LogOrderTest, AnOldFileWithoutEntriesIsLeftOut) {
  add_to(folder_ + "/out", "one\n");
  EXPECT_EQ(all_of(folder_, sys::unix_time() - 10), "one\n");
  EXPECT_EQ(all_of(folder_, sys::unix_time() + 10), "");
}

TEST_F(LogOrderTest, AReaderThatLeavesGetsTheRestOnceItComesBack) {
  add_to(folder_ + "/out", "one\n");
  add_to(folder_ + "/err", "two\n");
  add_to(folder_ + "/order", "1.000 out 4\n2.000 err 4\n");
  StoredLog log(folder_);
  std::string text;
  const auto take_one = [&](sys::Stream, std::string_view bytes) {
    text += bytes;
    return false;
  };
  log.read_new(take_one);
  EXPECT_EQ(text, "one\n");
  EXPECT_EQ(all_of(log, true), "two\n");
}

}  // namespace
}  // namespace muster::run
