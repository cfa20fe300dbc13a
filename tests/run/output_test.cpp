#include "run/output.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/streams.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

using OutputTest = sys::FolderTest;

agent::Piece piece(int rank, sys::Stream stream, std::uint64_t at, std::string bytes) {
  return {.rank = rank, .stream = stream, .at = at, .bytes = std::move(bytes)};
}

// Nothing reaches the screen, and the lines are ignored.
const Audience kUnseen{.watch = [](auto, const auto&) {}};

TEST_F(OutputTest, RanksAreKeptByteForByteAndShownInLabelledLines) {
  const std::string one("one\ntwo\0with a zero\nthree", 25);
  for (std::size_t size = 1; size < one.size(); ++size) {
    const std::string folder = folder_ + "/" + std::to_string(size);
    ASSERT_TRUE(sys::make_folders(folder, 0700));
    const auto output = Output::open(folder, 2, kUnseen);
    ASSERT_TRUE(output);
    for (std::size_t at = 0; at < one.size(); at += size) {
      EXPECT_TRUE((*output)->take("n1", piece(0, kOut, at, one.substr(at, size))));
      EXPECT_TRUE((*output)->take("n2", piece(1, kErr, at, one.substr(at, size))));
    }
    (*output)->finish();
    EXPECT_EQ(*sys::read_file(folder + "/ranks/0.out"), one);
    EXPECT_EQ(*sys::read_file(folder + "/ranks/1.err"), one);
    const std::string shown("[n1:0] one\n[n1:0] two\0with a zero\n[n1:0] three\n", 47);
    EXPECT_EQ(*sys::read_file(folder + "/out"), shown);
  }
}

TEST_F(OutputTest, WhatComesAgainAfterALostConnectionIsPassedOver) {
  const auto output = Output::open(folder_, 1, kUnseen);
  EXPECT_TRUE((*output)->take("n1", piece(0, kOut, 0, "abc")));
  EXPECT_TRUE((*output)->take("n1", piece(0, kOut, 0, "abc")));
  EXPECT_TRUE((*output)->take("n1", piece(0, kOut, 1, "bcde\n")));
  EXPECT_EQ(*sys::read_file(folder_ + "/ranks/0.out"), "abcde\n");
  EXPECT_EQ((*output)->taken("n1"), (std::vector<agent::Taken>{{.rank = 0, .out = 6, .err = 0}}));
  EXPECT_TRUE((*output)->taken("n2").empty());
  EXPECT_EQ((*output)->not_kept(), "");
}

TEST_F(OutputTest, AGapIsSaid) {
  const auto output = Output::open(folder_, 1, kUnseen);
  EXPECT_TRUE((*output)->take("n1", piece(0, kOut, 10, "later\n")));
  EXPECT_EQ((*output)->not_kept(),
            "10 bytes of output from rank 0 were lost with muster's watcher process on n1");
}

TEST_F(OutputTest, ARankThatIsNotOursIsRefused) {
  const auto output = Output::open(folder_, 2, kUnseen);
  EXPECT_FALSE((*output)->take("n1", piece(2, kOut, 0, "x")));
  EXPECT_FALSE((*output)->take("n1", piece(-1, kOut, 0, "x")));
}

TEST_F(OutputTest, TheEnginesWordsAreKeptApart) {
  const auto output = Output::open(folder_, 1, kUnseen);
  (*output)->take_engine(kErr, "mpirun: a warning\nand more");
  EXPECT_EQ(*sys::read_file(folder_ + "/out"), "");
  EXPECT_EQ((*output)->last_of_engine(1), std::vector<std::string>{"and more"});
}

TEST_F(OutputTest, ALineOfTheEngineThatDoesNotEndIsCut) {
  std::size_t lines = 0, longest = 0;
  const auto output = Output::open(folder_, 1, {.watch = [&](auto, const Line& line) {
                                     ++lines;
                                     longest = std::max(longest, line.text.size());
                                   }});
  const std::string piece(1 << 16, 'x');
  for (int i = 0; i < 64; ++i) (*output)->take_engine(kOut, piece);
  EXPECT_EQ(lines, 3U);  // each a little more than a megabyte
  EXPECT_LT(longest, std::size_t{2} << 20);
}

TEST_F(OutputTest, LinesThatDoNotEndHaveALimitInAll) {
  std::size_t lines = 0;
  constexpr int kRanks = 70;  // 64 of them reach the limit
  const auto output = Output::open(folder_, kRanks, {.watch = [&](auto, const auto&) { ++lines; }});
  const std::string megabyte(1 << 20, 'x');
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE((*output)->take("n1", piece(rank, kOut, 0, megabyte)));
  }
  EXPECT_EQ(lines, 6U);
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/ranks/69.out"), megabyte.size());
}

TEST_F(OutputTest, TheLastErrorsAreThoseOfTheRank) {
  const auto output = Output::open(folder_, 2, kUnseen);
  EXPECT_TRUE((*output)->take("n1", piece(0, kErr, 0, "other\n")));
  EXPECT_TRUE((*output)->take("n1", piece(1, kErr, 0, "a\n\nb\x1b[31m\nc")));
  EXPECT_EQ((*output)->last_errors(1, 2).size(), 2U);
  EXPECT_EQ((*output)->last_errors(1, 2).back(), "c");
  EXPECT_EQ((*output)->last_errors(1, 2).front().find('\x1b'), std::string::npos);
  EXPECT_TRUE((*output)->last_errors(0, 0).empty());
}

// Returns what is written to standard error while `talk` runs and the rest is shown.
std::string shown_errors(const std::string& folder, const std::function<void(Output&)>& talk,
                         const Audience& audience = {}) {
  testing::internal::CaptureStderr();
  const auto output = Output::open(folder, 3, audience);
  talk(**output);
  (*output)->show_rest();
  return testing::internal::GetCapturedStderr();
}

TEST_F(OutputTest, WhatTheOthersSayAfterARankFailedIsKeptAndNotShown) {
  const std::string shown = shown_errors(folder_, [](Output& output) {
    EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, "all is well\n")));
    output.a_rank_failed();
    EXPECT_TRUE(output.take("n1", piece(0, kErr, 12, "my peer is gone\n")));
    EXPECT_TRUE(output.take("n2", piece(1, kErr, 0, "it was me\n")));
    output.finish();
    EXPECT_EQ(output.held_ranks(), (std::set<int>{0, 1}));
    output.show_held(1);
    EXPECT_TRUE(output.shown_last(1));
    EXPECT_TRUE(output.held_ranks().empty());
  });
  EXPECT_EQ(shown, "[n1:0] all is well\n[n2:1] it was me\n");
  EXPECT_EQ(*sys::read_file(folder_ + "/ranks/0.err"), "all is well\nmy peer is gone\n");
}

TEST_F(OutputTest, WhatIsHeldBackHasALimitAndAllOfItIsKept) {
  constexpr std::size_t kLinesHeld = 10'100;
  const std::string shown = shown_errors(folder_, [](Output& output) {
    output.a_rank_failed();
    for (std::size_t i = 0; i < kLinesHeld; ++i) {
      EXPECT_TRUE(output.take("n1", piece(0, kErr, 2 * i, "x\n")));
    }
    output.show_held(-1);
  });
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 10'000);
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/ranks/0.err"), 2 * kLinesHeld);
}

TEST_F(OutputTest, ARankThatSoundsLikeAnEndIsHeldBackUntilItIsKnownWhoFailed) {
  const std::string trace = "Traceback (most recent call last):\n  x\nRuntimeError: y\n";
  const auto talk = [&](Output& output) {
    EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, trace)));
    EXPECT_TRUE(output.take("n3", piece(2, kErr, 0, "warning: slow\n")));
  };
  EXPECT_EQ(shown_errors(folder_,
                         [&](Output& output) {
                           talk(output);
                           output.show_held(1);
                         }),
            "[n3:2] warning: slow\n");
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(shown_errors(folder_,
                         [&](Output& output) {
                           talk(output);
                           output.show_held(-1);
                         }),
            "[n3:2] warning: slow\n[n1:0] Traceback (most recent call last):\n[n1:0]   x\n"
            "[n1:0] RuntimeError: y\n");
}

TEST_F(OutputTest, OfAProgressBarTheLastDrawingIsQuoted) {
  const auto output = Output::open(folder_, 1, kUnseen);
  EXPECT_TRUE((*output)->take("n1", piece(0, kErr, 0, "\r 0%|\r 50%|\nValueError: x\n")));
  EXPECT_EQ((*output)->last_errors(0, 9), (std::vector<std::string>{" 50%|", "ValueError: x"}));
}

TEST_F(OutputTest, NoPartOfALineIsQuoted) {
  const auto output = Output::open(folder_, 1, kUnseen);
  const std::string long_line(20'000, 'x');
  EXPECT_TRUE((*output)->take("n1", piece(0, kErr, 0, long_line + "\nValueError: x\n")));
  EXPECT_EQ((*output)->last_errors(0, 9), std::vector<std::string>{"ValueError: x"});
}

TEST_F(OutputTest, MustersOwnLinesComeAfterWhatRanksSaidBefore) {
  const std::string shown =
      shown_errors(folder_,
                   [](Output& output) {
                     EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, "a line\n")));
                     output.say("muster: ending the run\n");
                   },
                   {.show = {.fold = Show::Fold::kAlways}});
  EXPECT_EQ(shown, "[n1:0] a line\nmuster: ending the run\n");
}

// The bar writes more bytes than a line may have, ten per drawing.
TEST_F(OutputTest, AProgressBarOfManyHoursLeavesNoLinesOnTheScreen) {
  constexpr std::size_t kDrawings = 300'000;
  std::string drawings;
  for (std::size_t i = 0; i < kDrawings; ++i) drawings += fmt::format("\r{:8}%", i);
  const std::string shown = shown_errors(
      folder_,
      [&](Output& output) {
        for (std::size_t at = 0; at < drawings.size(); at += 10'000) {
          EXPECT_TRUE(output.take("n1", piece(0, kErr, at, drawings.substr(at, 10'000))));
        }
        output.finish();
      },
      {.show = {.fold = Show::Fold::kAlways}});
  EXPECT_EQ(shown, "[n1:0]   299999%\n");
  const std::string stored = *sys::read_file(folder_ + "/err");
  EXPECT_EQ(std::count(stored.begin(), stored.end(), '\n'), 3);
  EXPECT_EQ(std::count(stored.begin(), stored.end(), '%'), kDrawings);
}

Audience showing(const std::string& what) {
  return {.show = *parse_show(what)};
}

TEST_F(OutputTest, OnlyTheRanksThatWereAskedForAreShownAndAllAreKept) {
  const auto talk = [](Output& output) {
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(output.take("n1", piece(rank, kErr, 0, "hello\n")));
    }
  };
  EXPECT_EQ(shown_errors(folder_, talk, showing("0,2")), "[n1:0] hello\n[n1:2] hello\n");
  EXPECT_EQ(*sys::read_file(folder_ + "/err"), "[n1:0] hello\n[n1:1] hello\n[n1:2] hello\n");
}

TEST_F(OutputTest, ARankThatFailsIsShownThoughItWasNotAskedFor) {
  const std::string shown = shown_errors(
      folder_,
      [](Output& output) {
        EXPECT_TRUE(output.take("n2", piece(1, kErr, 0, "a warning\n")));
        EXPECT_TRUE(output.take("n3", piece(2, kErr, 0, "another\n")));
        output.a_rank_failed();
        EXPECT_TRUE(output.take("n2", piece(1, kErr, 10, "ValueError: x\n")));
        output.finish();
        output.show_held(1);
        EXPECT_TRUE(output.shown_last(1));
      },
      showing("0"));
  EXPECT_EQ(shown, "[n2:1] a warning\n[n2:1] ValueError: x\n");
}

TEST_F(OutputTest, EqualLinesAreShownOnceAndKeptForEachRank) {
  const std::string shown = shown_errors(
      folder_,
      [](Output& output) {
        EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, "epoch 1\nonly me\n")));
        EXPECT_TRUE(output.take("n1", piece(1, kErr, 0, "epoch 1\n")));
        EXPECT_TRUE(output.has_waiting());
        EXPECT_TRUE(output.take("n2", piece(2, kErr, 0, "epoch 1\n")));
      },
      showing("folded"));
  EXPECT_EQ(shown, "[n[1-2]:0-2] epoch 1\n[n1:0] only me\n");
  EXPECT_EQ(*sys::read_file(folder_ + "/err"),
            "[n1:0] epoch 1\n[n1:0] only me\n[n1:1] epoch 1\n[n2:2] epoch 1\n");
  EXPECT_EQ(*sys::read_file(folder_ + "/ranks/1.err"), "epoch 1\n");
}

TEST_F(OutputTest, APipeGetsEveryLineAtOnce) {
  const std::string shown = shown_errors(folder_, [](Output& output) {
    EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, "same\n")));
    EXPECT_TRUE(output.take("n1", piece(1, kErr, 0, "same\n")));
    EXPECT_FALSE(output.has_waiting());
  });
  EXPECT_EQ(shown, "[n1:0] same\n[n1:1] same\n");
}

TEST_F(OutputTest, OfManyLinesThatComeAtOnceOnlySoManyWait) {
  constexpr std::size_t kMany = 500'000;
  const std::string shown = shown_errors(
      folder_,
      [](Output& output) {
        EXPECT_TRUE(output.take("n1", piece(0, kErr, 0, std::string(kMany, '\n'))));
      },
      showing("folded"));
  EXPECT_EQ(shown.size(), kMany * std::string_view("[n1:0] \n").size());  // a pipe gets all
}

TEST_F(OutputTest, TheEnginesWordsAreShownIfAskedForAndLabelled) {
  const auto talk = [](Output& output) {
    output.take_engine(kOut, "a warn");
    output.take_engine(kOut, "ing\nthe rest");
    output.finish();
  };
  EXPECT_EQ(shown_errors(folder_, talk), "");
  EXPECT_EQ(shown_errors(folder_, talk, {.engine = Audience::Engine::kAsItComes}),
            "[engine] a warning\n[engine] the rest\n");
}

}  // namespace
}  // namespace muster::run
