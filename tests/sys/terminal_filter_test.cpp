#include "sys/terminal_filter.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::sys {
namespace {

std::string shown(std::string_view bytes) {
  TerminalFilter filter;
  return filter.take(bytes);
}

// Filters byte by byte. The result must not depend on how the bytes are split.
std::string shown_bytewise(std::string_view bytes) {
  TerminalFilter filter;
  std::string all;
  for (const char byte : bytes) all += filter.take({&byte, 1});
  return all;
}

struct Case {
  const char* what;
  std::string_view bytes;
  std::string_view shown;
};

const std::vector<Case> kCases = {
    {"plain text", "a b\tc\n", "a b\tc\n"},
    {"UTF-8", "J\u00f6rg \u2713 \U0001F600\n", "J\u00f6rg \u2713 \U0001F600\n"},
    {"progress bars", "\r50 %\x1b[K\x1b[1A\x1b[2K\x1b[3G\b|",
     "\r50 %\x1b[K\x1b[1A\x1b[2K\x1b[3G\b|"},
    {"colours", "\x1b[1;38;5;208mred\x1b[0m \x1b[4:3mwavy\x1b[m\n",
     "\x1b[1;38;5;208mred\x1b[0m \x1b[4:3mwavy\x1b[m\n"},
    {"colours end with their line", "\x1b[8mhidden\nnext\n", "\x1b[8mhidden\x1b[0m\nnext\n"},
    {"clipboard", "a\x1b]52;c;aGk=\x07z", "az"},
    {"title, ended by ST", "a\x1b]0;title\x1b\\z", "az"},
    {"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
    {"DCS, SOS, PM and APC", "a\x1bP$qm\x1b\\b\x1bXx\x1b\\c\x1b^x\x1b\\d\x1b_x\x1b\\e", "abcde"},
    {"a string ends with its line", "a\x1b]52;c;aGk=\nb\n", "a\nb\n"},
    {"a sequence ends a string", "a\x1b]0;t\x1b[31mz\x1b[0m", "a\x1b[31mz\x1b[0m"},
    {"a cancelled string", "a\x1b]0;t\x18z", "az"},
    {"reports", "a\x1b[6n\x1b[c\x1b[>c\x1b[5n\x1b[?6n\x1b[>q\x1bZz", "az"},
    {"window operations", "a\x1b[8;1;1t\x1b[21tz", "az"},
    {"modes", "a\x1b[?2004h\x1b[?1049h\x1b[?1000h\x1b[4hz", "az"},
    {"erasing the screen, moving anywhere", "a\x1b[2J\x1b[3J\x1b[H\x1b[1;1f\x1b[2Sz", "az"},
    {"far away", "a\x1b[9999Az", "az"},
    {"reset, save, character sets, alignment",
     "a\x1b"
     "c\x1b"
     "7\x1b(0\x1b%G\x1b#8z",
     "az"},
    {"not a colour", "a\x1b[?1m\x1b[>4;2m\x1b[1 m\x1b[31 qz", "az"},
    {"too long",
     "a\x1b["
     "1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mz",
     "az"},
    {"control characters", std::string_view("a\0\a\v\f\x0e\x0f\x05\x7fz", 10), "az"},
    {"C1 as UTF-8",
     "a\xc2\x9b"
     "6nz",
     "a?6nz"},
    {"C1 as a byte",
     "a\x9b"
     "6nz",
     "a?6nz"},
    {"turned text", "a\u202ez", "a?z"},
    {"no UTF-8", "a\xff\xc3z\xe2\x82", "a??z"},
    {"a line end within a sequence", "a\x1b[3\n1mz", "a\n1mz"},
    {"an unfinished sequence", "a\x1b[3", "a"},
};

TEST(TerminalFilter, LetsOnlyHarmlessSequencesThrough) {
  for (const Case& one : kCases) {
    EXPECT_EQ(shown(one.bytes), one.shown) << one.what;
    EXPECT_EQ(shown_bytewise(one.bytes), one.shown) << one.what;
  }
}

TEST(TerminalFilter, DoesNotDelayText) {
  TerminalFilter filter;
  EXPECT_EQ(filter.take("50 %"), "50 %");
  EXPECT_EQ(filter.take("\r60 %\x1b["), "\r60 %");
  EXPECT_EQ(filter.take("K|"), "\x1b[K|");
}

// For any bytes, filtering the output again changes nothing, and filtering byte by byte gives the
// same output.
TEST(TerminalFilter, LeavesNothingToFilter) {
  const std::string pieces = "\x1b\x1b[]PX(\\;31mnAK\x07\n\xc2\x9b\xe2\x80\xae\x9c?0";
  unsigned random = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      random = random * 1664525 + 1013904223;
      bytes += pieces[(random >> 16) % pieces.size()];
    }
    const std::string once = shown(bytes);
    EXPECT_EQ(shown(once), once);
    EXPECT_EQ(shown_bytewise(bytes), once);
  }
}

}  // namespace
}  // namespace muster::sys
