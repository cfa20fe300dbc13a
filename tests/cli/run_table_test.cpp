#include "cli/run_table.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using run::PastRun;
using run::RunState;

TEST(TimeText, IsShort) {
  EXPECT_EQ(time_text(0.44), "0.4s");
  EXPECT_EQ(time_text(42.9), "42s");
  EXPECT_EQ(time_text(200), "3m20s");
  EXPECT_EQ(time_text(2 * 3600 + 5 * 60), "2h05m");
  EXPECT_EQ(time_text(4 * 86400 + 3600), "4d01h");
}

TEST(RunTable, HasAHeaderAndALinePerRun) {
  const std::vector<PastRun> runs = {{.id = "20260102-b",
                                      .name = "lr3",
                                      .state = RunState::kRunning,
                                      .started_s = 900,
                                      .hosts = {"n1", "n2"},
                                      .ranks = 4,
                                      .attempts = 2,
                                      .command = "python3 train.py"},
                                     {.id = "20260101-a",
                                      .state = RunState::kFailed,
                                      .code = 3,
                                      .started_s = 100,
                                      .ended_s = 105,
                                      .hosts = {"n1"},
                                      .ranks = 1,
                                      .attempts = 1,
                                      .command = "true",
                                      .why = "rank 0 on n1 ended with exit code 3"},
                                     {.id = "20251231-c", .attempts = 1}};
  EXPECT_EQ(run_table(runs, 1000, 0),
            "RUN         STATE        AGE     DURATION  HOSTS   RANKS  ATTEMPTS  COMMAND"
            "           WHY\n"
            "lr3         running      1m40s   1m40s     n[1-2]  4      2         python3 train.py\n"
            "20260101-a  failed (3)   15m00s  5.0s      n1      1      1         true"
            "              rank 0 on n1 ended with exit code 3\n"
            "20251231-c  not started                                   1\n");
}

TEST(RunTable, ShowsTheIdOfARunWhoseNameMeansANewerOne) {
  const std::vector<PastRun> runs = {
      {.id = "c", .name = "lr3"}, {.id = "b", .name = "lr3"}, {.id = "a"}};
  const std::string table = run_table(runs, 0, 0);
  EXPECT_NE(table.find("\nlr3 "), std::string::npos) << table;
  EXPECT_NE(table.find("\nb (lr3) "), std::string::npos) << table;
}

TEST(RunTable, IsCutToTheTerminal) {
  const std::vector<PastRun> runs = {{.id = "a", .attempts = 1, .command = std::string(100, 'x')}};
  const std::string whole = run_table(runs, 0, 0);
  EXPECT_NE(whole.find(std::string(37, 'x') + "..."), std::string::npos);
  EXPECT_EQ(whole.find(std::string(38, 'x')), std::string::npos);
  EXPECT_EQ(run_table(runs, 0, 60),
            "RUN  STATE        AGE  HOSTS  COMMAND                    WHY\n"
            "a    not started              xxxxxxxxxxxxxxxxxxxxxx...\n");
}

TEST(RunTable, LeavesRoomForWhyOnANarrowTerminal) {
  const std::vector<PastRun> runs = {{.id = "20260101-101010-1f2a7",
                                      .state = RunState::kFailed,
                                      .code = 3,
                                      .started_s = 100,
                                      .ended_s = 105,
                                      .hosts = {"n1", "n2"},
                                      .ranks = 4,
                                      .attempts = 1,
                                      .command = "python3 train.py --batch-size 64",
                                      .why = "rank 1 on n2 ended with exit code 3"}};
  EXPECT_EQ(run_table(runs, 1000, 80),
            "RUN                    STATE       AGE     WHY\n"
            "20260101-101010-1f2a7  failed (3)  15m00s  rank 1 on n2 ended with exit code 3\n");
  EXPECT_EQ(run_table(runs, 1000, 100),
            "RUN                    STATE       AGE     HOSTS   COMMAND       WHY\n"
            "20260101-101010-1f2a7  failed (3)  15m00s  n[1-2]  python3 t...  "
            "rank 1 on n2 ended with exit code 3\n");
  const std::string wide = run_table(runs, 1000, 200);
  EXPECT_EQ(wide, run_table(runs, 1000, 0));
}

}  // namespace
}  // namespace muster::cli
