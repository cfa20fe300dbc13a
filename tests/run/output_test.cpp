#include "run/output.hpp"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace muster::run {
namespace {

TEST(Demultiplexer, KnowsOurLabelsAndNothingElse) {
  const Demultiplexer lines({"n1", "node-2.example.org"}, 4);
  const auto ours = lines.parse("[n1:3] hello [n1:0] there\n");
  EXPECT_EQ(ours.rank, 3);
  EXPECT_EQ(ours.text, "hello [n1:0] there\n");
  EXPECT_EQ(lines.parse("[node-2.example.org:0] \n").text, "\n");
  for (const char* line :
       {"", "\n", "[n1:4] beyond", "[n9:0] unknown", "[n1:-1] x", "[n1:] x",
        "[n1:00000] *** An error", "[n1:1]x", "n1:1] x", "[n1] x", "[[n1:0] x", "PRTE: [n1:0] x"}) {
    EXPECT_EQ(lines.parse(line).rank, -1) << line;
  }
}

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/muster-output-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(OutputTest, PartsTheRanksHoweverTheBytesArrive) {
  const std::string said = "[n1:0] one\n[n2:1] two\nmpirun: a warning\n[n1:0] three";
  for (std::size_t piece = 1; piece < said.size(); ++piece) {
    const std::string folder = folder_ + "/" + std::to_string(piece);
    ASSERT_TRUE(sys::make_folders(folder, 0700));
    const auto output = Output::open(folder, {"n1", "n2"}, 2, [](auto, const auto&) {});
    ASSERT_TRUE(output);
    for (std::size_t at = 0; at < said.size(); at += piece) {
      (*output)->take(sys::Stream::kOut, std::string_view(said).substr(at, piece));
    }
    (*output)->finish();
    EXPECT_EQ(*sys::read_file(folder + "/out"), said);
    EXPECT_EQ(*sys::read_file(folder + "/ranks/0.out"), "one\nthree");
    EXPECT_EQ(*sys::read_file(folder + "/ranks/1.out"), "two\n");
    EXPECT_EQ((*output)->bytes(0, sys::Stream::kOut), 9U);
    EXPECT_EQ((*output)->bytes(1, sys::Stream::kErr), 0U);
  }
}

TEST_F(OutputTest, TakesTheShimsNewlineOffAgain) {
  const auto output = Output::open(folder_, {"n1"}, 1, [](auto, const auto&) {});
  (*output)->take(sys::Stream::kErr, "[n1:0] no newline\n");
  (*output)->finish();
  (*output)->drop_added_newline(0, sys::Stream::kErr);
  EXPECT_EQ(*sys::read_file(folder_ + "/ranks/0.err"), "no newline");
  EXPECT_EQ((*output)->bytes(0, sys::Stream::kErr), 10U);
}

}  // namespace
}  // namespace muster::run
