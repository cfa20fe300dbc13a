#include "agent/line_blocks.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

std::vector<std::string> drain(LineBlocks& lines, std::size_t wanted) {
  std::vector<std::string> blocks;
  while (lines.waiting() > 0) {
    blocks.emplace_back(lines.next(wanted));
    lines.take(blocks.back().size());
  }
  return blocks;
}

using Blocks = std::vector<std::string>;

TEST(LineBlocks, LabelsLinesHoweverTheyArrive) {
  LineBlocks lines("[a:0] ", 100);
  for (const char c : std::string("one\ntwo\n")) lines.add(std::string(1, c));
  EXPECT_EQ(drain(lines, 100), Blocks{"[a:0] one\n[a:0] two\n"});
}

TEST(LineBlocks, HoldsAnUnfinishedLine) {
  LineBlocks lines("[a:0] ", 100);
  lines.add("one\ntw");
  EXPECT_EQ(drain(lines, 100), Blocks{"[a:0] one\n"});
  lines.add("o\n");
  EXPECT_EQ(drain(lines, 100), Blocks{"[a:0] two\n"});
}

TEST(LineBlocks, EndFinishesTheLine) {
  LineBlocks labelled("[a:0] ", 100);
  labelled.add("x");
  labelled.finish();
  EXPECT_EQ(drain(labelled, 100), Blocks{"[a:0] x\n"});
  LineBlocks bare("", 100);
  bare.add("x");
  bare.finish();
  EXPECT_EQ(drain(bare, 100), Blocks{"x"});
  LineBlocks nothing("[a:0] ", 100);
  nothing.finish();
  EXPECT_EQ(drain(nothing, 100), Blocks{});
}

TEST(LineBlocks, BlocksEndAtLines) {
  LineBlocks lines("", 16);
  lines.add("12345\n12345\n12345\n");
  EXPECT_EQ(drain(lines, 16), (Blocks{"12345\n12345\n", "12345\n"}));
}

TEST(LineBlocks, LineLongerThanWantedGoesWhole) {
  LineBlocks lines("", 16);
  lines.add("1\n1234567890\n2\n");
  EXPECT_EQ(drain(lines, 4), (Blocks{"1\n", "1234567890\n", "2\n"}));
}

TEST(LineBlocks, LineLongerThanABlockGoesInPieces) {
  LineBlocks lines("[] ", 8);
  lines.add("123456789");
  EXPECT_EQ(drain(lines, 8), Blocks{"[] 12345"});  // a full block does not wait for its newline
  lines.add("abc\nx\n");
  EXPECT_EQ(drain(lines, 8), (Blocks{"6789abc\n", "[] x\n"}));
}

TEST(LineBlocks, SayingSomethingBreaksALineOff) {
  LineBlocks lines("[] ", 100);
  lines.add("half");
  lines.say("muster: note\n");
  lines.add("rest\n");
  EXPECT_EQ(drain(lines, 100), Blocks{"[] half\n[] muster: note\n[] rest\n"});
}

TEST(LineBlocks, NoByteIsLostOrChanged) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  std::string all;
  std::string got;
  LineBlocks lines("", 64);
  for (int i = 0; i < 5000; ++i) {
    std::string piece(random() % 200, '\0');
    for (char& c : piece) c = random() % 30 == 0 ? '\n' : static_cast<char>(random());
    all += piece;
    lines.add(piece);
    while (lines.waiting() > 300) {
      const auto block = lines.next(64);
      const std::size_t taken = 1 + random() % block.size();  // a terminal may take a part
      got += block.substr(0, taken);
      lines.take(taken);
    }
  }
  lines.finish();
  for (const std::string& block : drain(lines, 64)) {
    ASSERT_LE(block.size(), 64U);
    got += block;
  }
  EXPECT_EQ(got, all);
}

}  // namespace
}  // namespace muster::agent
