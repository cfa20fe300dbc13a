#include "run/log_limit.hpp"

#include <filesystem>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/disk_room.hpp"
#include "run/log_order.hpp"
#include "run/output.hpp"
#include "run/streams.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{4} << 20;

class LogLimitTest : public sys::FolderTest {
 protected:
  void SetUp() override {
    sys::FolderTest::SetUp();
    if (const auto can = LogLimit(folder_, kLimit).check(2); !can) {
      GTEST_SKIP() << can.error().what << ": " << folder_;
    }
    output_ = *Output::open(folder_, 2, {.watch = [](auto, const auto&) {}}, kLimit);
  }
  // The rank prints numbered lines, a block of them at a time.
  void print(int rank, sys::Stream stream, int lines) {
    std::string block;
    for (int i = 0; i < lines; ++i) {
      block += fmt::format("line {} {}\n", printed_[{rank, stream}]++, std::string(80, 'x'));
      if (block.size() < 60'000 && i + 1 < lines) continue;
      std::uint64_t& at = bytes_[{rank, stream}];
      EXPECT_TRUE(output_->take("n1", {.rank = rank, .stream = stream, .at = at, .bytes = block}));
      at += block.size();
      block.clear();
    }
  }
  [[nodiscard]] struct stat status(const std::string& file) const {
    struct stat status = {};
    EXPECT_EQ(::stat((folder_ + "/" + file).c_str(), &status), 0);
    return status;
  }
  // What a reader of the run's output gets.
  [[nodiscard]] std::string logs(std::uint64_t& dropped) const {
    std::string all;
    StoredLog log(folder_);
    const auto take = [&](auto, std::string_view bytes) {
      all += bytes;
      return true;
    };
    log.read_new(take);
    log.read_rest(take);
    dropped = log.dropped();
    return all;
  }

  std::unique_ptr<Output> output_;
  std::map<std::pair<int, sys::Stream>, int> printed_;
  std::map<std::pair<int, sys::Stream>, std::uint64_t> bytes_;
};

TEST_F(LogLimitTest, TheNewestLinesAreLeftAndTheRestIsCounted) {
  print(1, kErr, 3);
  print(0, kOut, 400'000);
  print(1, kErr, 3);
  std::uint64_t dropped = 0;
  const std::string all = logs(dropped);
  EXPECT_EQ(all.find('\0'), std::string::npos);
  EXPECT_TRUE(all.starts_with("[n1:1] line 0 ")) << all.substr(0, 100);  // a quiet rank keeps all
  EXPECT_NE(all.find("[n1:0] line 399999 "), std::string::npos);
  EXPECT_NE(all.find("\n[n1:1] line 5 "), std::string::npos);
  const std::uint64_t whole = static_cast<std::uint64_t>(status("out").st_size) +
                              static_cast<std::uint64_t>(status("err").st_size);
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(dropped + all.size(), whole);
  EXPECT_EQ(output_->dropped(), dropped);
  EXPECT_EQ(output_->not_kept(), "");
}

TEST_F(LogLimitTest, TheDiskHasNoMoreThanTheLimit) {
  for (int i = 0; i < 20; ++i) {
    print(0, kOut, 20'000);
    std::int64_t blocks = 0;
    for (const char* const file : {"out", "err", "order", "ranks/0.out"}) {
      blocks += status(file).st_blocks;
    }
    // Whole blocks, and those that the file system reserves for files that grow.
    constexpr std::int64_t kRounding = std::int64_t{8} << 20;
    EXPECT_LE(blocks * 512, static_cast<std::int64_t>(kLimit) + kRounding);
  }
}

TEST_F(LogLimitTest, WhatIsLeftOfARankBeginsWithAWholeLine) {
  print(0, kOut, 400'000);
  const std::uint64_t begin = log_begin(folder_, "ranks/0.out");
  EXPECT_GT(begin, 0U);
  const std::string file = *sys::read_file(folder_ + "/ranks/0.out");
  EXPECT_EQ(file.size(), bytes_[std::pair(0, kOut)]);
  EXPECT_EQ(file[begin - 1] == '\n' || file[begin - 1] == '\0', true);
  EXPECT_EQ(file.substr(begin, 5), "line ");
  EXPECT_EQ(log_begin(folder_, "ranks/1.out"), 0U);
}

TEST_F(LogLimitTest, AReaderThatIsTooSlowLosesWhatIsDroppedAndNoMore) {
  std::string all;
  StoredLog log(folder_);
  const auto take = [&](auto, std::string_view bytes) {
    all += bytes;
    return true;
  };
  for (int i = 0; i < 10; ++i) {
    print(0, kOut, 40'000);
    log.read_new(take);
  }
  EXPECT_EQ(all.find('\0'), std::string::npos);
  EXPECT_GT(log.dropped(), 0U);
  EXPECT_EQ(all.size() + log.dropped(), static_cast<std::uint64_t>(status("out").st_size));
  EXPECT_TRUE(all.ends_with('\n'));
}

// Nothing can be dropped of many small files, so a limit that they exceed is refused.
TEST_F(LogLimitTest, ALimitThatIsTooSmallForTheRanksIsRefused) {
  const Audience unseen = {.watch = [](auto, const auto&) {}};
  EXPECT_TRUE(Output::open(folder_, 2, unseen, LogLimit::kSmallest));
  const auto refused = Output::open(folder_, 64, unseen, kLimit);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("too small for 64 ranks"), std::string::npos);
  EXPECT_EQ(refused.error().hint, "pass --log-limit 32M or more");
  EXPECT_TRUE(Output::open(folder_, 64, unseen, std::uint64_t{32} << 20));
}

TEST_F(LogLimitTest, ManySmallFilesStayWithinTheSmallestLimit) {
  constexpr int kRanks = 16;
  const std::string folder = folder_ + "/other";
  ASSERT_TRUE(sys::make_folders(folder, 0700));
  output_ = *Output::open(folder, kRanks, {.watch = [](auto, const auto&) {}},
                          LogLimit::smallest(kRanks));
  for (int rank = 0; rank < kRanks; ++rank) {
    print(rank, kOut, 5'000);
    print(rank, kErr, 5'000);
  }
  std::uint64_t stored = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "dropped") continue;
    const std::string name = std::filesystem::relative(entry.path(), folder);
    stored += entry.file_size() - log_begin(folder, name);
  }
  EXPECT_LE(stored, LogLimit::smallest(kRanks));
}

TEST_F(LogLimitTest, ALimitThatCannotBeKeptIsNotTriedForEachPiece) {
  LogLimit limit(folder_, LogLimit::kSmallest);
  for (int file = 0; file < 11; ++file) limit.wrote(fmt::format("ranks/{}.out", file), 100'000);
  ASSERT_TRUE(sys::write_file(folder_ + "/ranks/0.out", std::string(200'000, 'x'), 0600));
  limit.wrote("ranks/0.out", 100'000);  // this one is large enough to be shortened
  EXPECT_FALSE(sys::exists(folder_ + "/dropped"));
  limit.wrote("ranks/0.out", LogLimit::kSmallest);
  EXPECT_TRUE(sys::exists(folder_ + "/dropped"));
}

TEST_F(LogLimitTest, IfTheListCannotBeWrittenNothingCountsAsDropped) {
  const std::string list = folder_ + "/dropped";
  ASSERT_TRUE(sys::make_folders(list + "/in the way", 0700));
  print(0, kOut, 100'000);
  EXPECT_EQ(output_->dropped(), 0U);
  EXPECT_EQ(std::filesystem::remove_all(list), 2U);
  print(0, kOut, 100'000);
  EXPECT_GT(output_->dropped(), 0U);
  std::uint64_t dropped = 0;
  EXPECT_EQ(logs(dropped).find('\0'), std::string::npos);
  EXPECT_EQ(dropped, output_->dropped());
}

TEST_F(LogLimitTest, ALineThatIsCutByAGapEndsThere) {
  print(0, kOut, 10'000);
  std::string all;
  StoredLog log(folder_);
  log.read_new([&](auto, std::string_view bytes) {
    const bool is_first = all.empty();
    all += bytes;
    if (is_first) {
      EXPECT_FALSE(all.ends_with('\n'));
      print(0, kOut, 60'000);
    }
    return true;
  });
  EXPECT_GT(log.dropped(), 0U);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    ASSERT_LE(line.size(), std::string("[n1:0] line 69999 ").size() + 80);
    ASSERT_TRUE(line.find("[n1:", 1) == std::string::npos) << line;
  }
}

TEST_F(LogLimitTest, AReaderOfOneFileGetsNoZeros) {
  StoredFile file(folder_, "ranks/0.out");
  std::string all;
  std::vector<char> part(10'000);
  const auto read_some = [&] {
    const ssize_t count = file.read(part.data(), part.size());
    if (count > 0) all.append(part.data(), static_cast<std::size_t>(count));
    return count;
  };
  EXPECT_EQ(read_some(), 0);  // the file does not exist yet
  for (int i = 0; i < 10; ++i) {
    print(0, kOut, 40'000);
    EXPECT_GT(read_some(), 0);
  }
  while (read_some() > 0) continue;
  EXPECT_EQ(all.find('\0'), std::string::npos);
  EXPECT_GT(file.dropped(), 0U);
  EXPECT_EQ(all.size() + file.dropped(), bytes_[std::pair(0, kOut)]);
}

TEST_F(LogLimitTest, OnAFullDiskOldOutputIsDroppedAndTheNewestStored) {
  print(0, kOut, 10'000);
  LogLimit limit(folder_, std::uint64_t{1} << 40);
  limit.wrote("out", static_cast<std::uint64_t>(status("out").st_size));
  DiskRoom room(folder_, [](const auto&) { return true; });
  std::uint64_t freed = 0;
  const auto free_some = [&] { return freed = limit.free_some(); };
  constexpr std::size_t kPieceBytes = 60'000;
  std::uint64_t at = 0;
  while (freed == 0) {  // the disk is looked at now and then
    ASSERT_TRUE(room.has(kPieceBytes, free_some));
    ASSERT_LT(at += kPieceBytes, std::uint64_t{100} << 20);
  }
  EXPECT_EQ(log_begin(folder_, "out"), freed);
  // No more is written than was freed.
  const std::uint64_t first = freed;
  for (at = kPieceBytes; freed == first && at < 2 * first; at += kPieceBytes) {
    (void)room.has(kPieceBytes, free_some);
  }
  EXPECT_LE(at, first + 2 * kPieceBytes);
  DiskRoom short_room(folder_, [](const auto&) { return true; });
  EXPECT_FALSE(short_room.has(std::size_t{17} << 20));
  EXPECT_FALSE(short_room.has(std::size_t{17} << 20, [] { return std::uint64_t{0}; }));
}

TEST_F(LogLimitTest, WithoutALimitNothingIsDropped) {
  const std::string folder = folder_ + "/other";
  ASSERT_TRUE(sys::make_folders(folder, 0700));
  output_ = *Output::open(folder, 1, {.watch = [](auto, const auto&) {}});
  print(0, kOut, 100'000);
  EXPECT_EQ(output_->dropped(), 0U);
  EXPECT_TRUE(read_log_begins(folder).empty());
}

TEST_F(LogLimitTest, AnUnreadableListMeansThatFilesAreWhole) {
  for (const char* const text :
       {"", "out", "out x", "out -1", "\n\n", "out 99999999999999999999"}) {
    ASSERT_TRUE(sys::write_file(folder_ + "/dropped", text, 0600));
    EXPECT_EQ(log_begin(folder_, "out"), 0U) << text;
  }
}

}  // namespace
}  // namespace muster::run
