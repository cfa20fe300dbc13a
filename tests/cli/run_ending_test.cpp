#include "cli/run_ending.hpp"

#include <gtest/gtest.h>

#include "catalogue/catalogue.hpp"

namespace muster::cli {
namespace {

using Lines = std::vector<std::string>;

run::Verdict verdict() {
  return {.code = 3,
          .text = "rank 1 on n2 ended with exit code 3",
          .hint = "to see its output: muster logs r1 --rank 1; rank 1 wrote nothing to stderr",
          .first_failed_rank = 1,
          .failed_host = "n2",
          .quoted = {"first", "  second", "third"},
          .engine_said = {"a banner", "and more"}};
}

ExplainedRun explained(const std::string& log) {
  const explain::Matcher matcher(catalogue::failures());
  explain::Scan scan(matcher);
  scan.begin("err");
  scan.take(log);
  return {.explanation = explain::explain(scan.finish(), {.verdict = verdict().text})};
}

const std::string kRaised =
    "[n2:1] Traceback (most recent call last):\n[n2:1]   File \"a.py\", line 7, in f\n"
    "[n2:1] ValueError: x\n";

TEST(RunEnding, OfAKnownCauseNamesItInsteadOfTheLastWords) {
  EXPECT_EQ(ending_lines(verdict(), "r1", explained(kRaised), 10),
            (Lines{"  cause      ValueError: x", "  your code  a.py:7, in f", "  seen in    err:3",
                   "  more       muster explain r1", "  output     muster logs r1 --rank 1"}));
}

TEST(RunEnding, OfAnUnknownCauseQuotesTheLastWordsAndTheEngine) {
  EXPECT_EQ(ending_lines(verdict(), "r1", explained("bye\n"), 10),
            (Lines{"  | first", "  |   second", "  | third",
                   "  hint: to see its output: muster logs r1 --rank 1",
                   "        rank 1 wrote nothing to stderr",
                   "        to look for the cause: muster explain r1", "[engine] a banner",
                   "[engine] and more"}));
  run::Verdict shown = verdict();
  shown.quoted_above = true;
  EXPECT_EQ(
      ending_lines(shown, "r1", std::nullopt, 10),
      (Lines{"  hint: to see its output: muster logs r1 --rank 1",
             "        rank 1 wrote nothing to stderr", "[engine] a banner", "[engine] and more"}));
}

TEST(RunEnding, OfSeveralPossibleCausesQuotesTheLastWordsToo) {
  const std::string another =
      "[n1:0] Traceback (most recent call last):\n[n1:0]   File \"b.py\", line 7, in f\n"
      "[n1:0] TypeError: y\n";
  const Lines lines = ending_lines(verdict(), "r1", explained(kRaised + another), 10);
  EXPECT_EQ(lines.front(), "  | first");
  EXPECT_EQ(lines[3], "  maybe      ValueError: x");
}

TEST(RunEnding, SaysWhatWasNotRead) {
  ExplainedRun run = explained(kRaised);
  run.left_out = "the middle of out (2.1 GB)";
  const Lines lines = ending_lines(verdict(), "r1", run, 10);
  EXPECT_EQ(lines[3], "  not read   the middle of out (2.1 GB)");
}

TEST(RunEnding, FitsOnTheScreen) {
  run::Verdict long_one = verdict();
  long_one.quoted.assign(30, std::string(300, 'x') + " y");
  long_one.engine_said.assign(6, std::string(300, 'e'));
  for (const std::string& log : {kRaised, std::string("bye\n"), kRaised + kRaised + "error 1\n"}) {
    for (std::size_t most = 4; most < 12; ++most) {
      const Lines lines = ending_lines(long_one, "r1", explained(log), most);
      EXPECT_LE(lines.size(), most);
      for (const std::string& line : lines) EXPECT_LE(line.size(), run::kEndingWidth) << line;
    }
  }
}

TEST(RunEnding, OfARunWithoutAnythingToSayIsEmpty) {
  EXPECT_TRUE(
      ending_lines({.code = 130, .text = "ended by signal 2"}, "r1", std::nullopt, 10).empty());
}

}  // namespace
}  // namespace muster::cli
