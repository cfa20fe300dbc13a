// Verdicts if little is known, and ranks that must not be accused.
#include <gtest/gtest.h>

#include "verdict_cases.hpp"
#include "why/verdict.hpp"

namespace muster::why {
namespace {

Builder ended(Builder scene, int rank, const std::string& how, double ago, bool timed_out = false) {
  RankState& state = scene.state(rank);
  state.life = RankState::Life::kEnded;
  state.end = how;
  state.ended_ago_s = ago;
  state.timed_out = timed_out;
  scene.rank(rank) = {.rank = rank};
  return scene;
}

Builder unseen(Builder scene, int rank) {
  scene.rank(rank) = {.rank = rank};
  return scene;
}

TEST(Judge, NamesWhoKeptOthersWaitingUntilTheyTimedOut) {
  expect_verdicts({
      {"the only other rank",
       [] {
         return ended(plain(2, 1, "all_reduce"), 0, "exit code 1", 0.1, true)
             .doing(1, "S", "sleep")
             .python(1, {"train.py:57 load"});
       },
       Kind::kNotEntered,
       true,
       {1},
       "rank 0 (n1) waited until it timed out"},
      {"others still wait",
       [] { return ended(missing(), 0, "exit code 1", 0.1, true).doing(3, "S", "sleep"); },
       Kind::kNotEntered,
       true,
       {3}},
      {"those that it cut off are no suspects",
       [] {
         Builder scene = ended(missing(), 0, "exit code 1", 1, true);
         scene = ended(scene, 1, "exit code 1", 0.9);
         scene.state(1).cut_off = true;
         return ended(scene, 2, "signal 15 (Terminated)", 0.5).doing(3, "S", "sleep");
       },
       Kind::kNotEntered,
       true,
       {3}},
      {"it computed for too long",
       [] { return ended(missing(), 0, "exit code 1", 0.1, true).doing(3, "R", "", 1); },
       Kind::kNotEntered,
       true,
       {3},
       "did not come in time"},
      {"it is stopped",
       [] { return ended(missing(), 0, "exit code 1", 0.1, true).doing(3, "T", ""); },
       Kind::kStopped,
       true,
       {3}},
  });
}

TEST(Judge, NamesTheRankThatEndedFirst) {
  expect_verdicts({
      {"a crash and its consequences",
       [] {
         return ended(ended(missing(20), 3, "signal 11 (Segmentation fault)", 20), 1, "exit code 1",
                      15);
       },
       Kind::kEnded,
       true,
       {3},
       "signal 11 (Segmentation fault)"},
      {"one that ended well may have no part in it",
       [] {
         return ended(plain(4, 3, "all_reduce"), 3, "exit code 0", 7200)
             .doing(0, "S", "futex", 0.3);
       },
       Kind::kWaiting,
       false,
       {}},
      {"with a recorder it has",
       [] { return ended(missing(20), 3, "exit code 0", 20); },
       Kind::kEnded,
       true,
       {3}},
  });
}

TEST(Judge, DoesNotAccuseWhatItCannotSee) {
  expect_verdicts({
      {"a visible culprit comes first",
       [] {
         Builder scene(4);
         scene.in(0, "all_reduce", 12, 94).in(1, "all_reduce", 12, 94);
         scene.did(2, "all_reduce", 11).doing(2, "S", "sleep");
         return unseen(scene, 3);
       },
       Kind::kNotEntered,
       true,
       {2}},
      {"a rank works, and another was not seen",
       [] {
         Builder scene(4);
         scene.in(0, "all_reduce", 12, 94).in(1, "all_reduce", 12, 94);
         scene.did(2, "all_reduce", 11).doing(2, "R", "", 1);
         Builder half = unseen(scene, 3);
         half.scene().hosts.erase("n4");
         half.scene().silent_hosts = {"n4"};
         return half;
       },
       Kind::kWorking,
       false,
       {}},
      {"only the unseen rank is left",
       [] { return unseen(missing(), 3); },
       Kind::kNotEntered,
       true,
       {3},
       "may or may not be in all_reduce #12: too little could be seen"},
      {"a wait that Python does not show",
       [] {
         Builder scene = plain(4, 3, "all_reduce").doing(3, "S", "futex");
         scene.python(3, {"train.py:57 main"});
         return scene;
       },
       Kind::kNotEntered,
       true,
       {3},
       "may or may not be in all_reduce"},
      {"the culprit moves",
       [] {
         Builder scene = plain(4, 3, "all_reduce").doing(3, "S", "sleep", 0.2);
         scene.python(3, {"train.py:57 load"});
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
  });
}

// Ranks of an MPI program, which wait by polling. All but `elsewhere` are in the MPI function
// `call`.
Builder polling(int ranks, int elsewhere, const std::string& call) {
  Builder scene(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == elsewhere) continue;
    scene.native(rank, {"epoll_wait", "opal_progress", "PMPI_" + call, "step", "main"});
    scene.doing(rank, "R", "", 0.2).rank(rank).first_frames = scene.rank(rank).stacks[0].frames;
  }
  return scene.without_recorder();
}

TEST(Judge, IsSlowToAccuseRanksThatPoll) {
  expect_verdicts({
      {"one sleeps, and the others stay in their call",
       [] {
         return polling(4, 3, "Allreduce")
             .native(3, {"nanosleep", "load", "main"})
             .doing(3, "S", "sleep");
       },
       Kind::kNotEntered,
       true,
       {3}},
      {"the others move",
       [] {
         Builder scene = polling(4, 3, "Allreduce").native(3, {"nanosleep", "load", "main"});
         scene.rank(1).first_frames = {{.function = "step"}, {.function = "main"}};
         return scene.doing(3, "S", "sleep");
       },
       Kind::kWaiting,
       false,
       {}},
      {"different calls, in which they stay",
       [] {
         Builder scene = polling(4, 2, "Allreduce").native(2, {"PMPI_Barrier", "finish", "main"});
         scene.doing(2, "R", "", 0.2).rank(2).first_frames = scene.rank(2).stacks[0].frames;
         scene.scene().silent_s = 90;
         return scene;
       },
       Kind::kDifferentCollectives,
       true,
       {2}},
      {"messages that Python waits for, one of them seen while the backend asks MPI",
       [] {
         Builder scene(3);
         scene.in(0, "all_reduce", 1, 66).doing(0, "R", "", 0.1);
         for (const int rank : {1, 2}) {
           scene.python(rank, {kC10d + "recv", "pipeline.py:31 receive"});
           scene.doing(rank, "S", "sleep", 0.12);
           scene.rank(rank).places.assign(5, "pipeline.py:31 receive");
         }
         scene.native(1, {"poll", "opal_progress", "PMPI_Test", "?"});
         scene.scene().silent_s = 66;
         return scene;
       },
       Kind::kDifferentCollectives,
       true,
       {0}},
      {"one waits for a lock, and the others poll in what MPI calls",
       [] {
         Builder scene(3);
         for (const int rank : {0, 1}) {
           scene.native(rank, {"clock_gettime", "evutil_gettime", "event_base_loop",
                               "opal_progress", "PMPI_Barrier", "main"});
           scene.doing(rank, "R", "", 0.2);
           scene.rank(rank).first_frames = {
               {.function = "event_base_loop"}, {.function = "PMPI_Barrier"}, {.function = "main"}};
         }
         scene.native(2, {"lockf", "main"}).doing(2, "S", "lock of /tmp/x, held by process 86");
         scene.scene().silent_s = 67;
         return scene.without_recorder();
       },
       Kind::kWaitsForLock,
       true,
       {2}},
      {"a call that one rank may have left early",
       [] {
         Builder scene = polling(4, 2, "Bcast").native(2, {"PMPI_Barrier", "finish", "main"});
         scene.doing(2, "R", "", 0.2).rank(2).first_frames = scene.rank(2).stacks[0].frames;
         scene.scene().silent_s = 90;
         return scene;
       },
       Kind::kDifferentCollectives,
       true,
       {0, 1, 2, 3},
       "do all ranks use the same root?"},
      {"different calls for a moment",
       [] {
         Builder scene = polling(4, 2, "Allreduce").native(2, {"PMPI_Barrier", "finish", "main"});
         scene.doing(2, "R", "", 0.2).rank(2).first_frames = {{.function = "main"}};
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"all in one call, as in a program that mostly communicates",
       [] {
         Builder scene = polling(4, -1, "Allreduce");
         scene.scene().silent_s = 200;
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"all in one call for very long",
       [] { return polling(4, -1, "Allreduce"); },
       Kind::kUnknown,
       true,
       {0, 1, 2, 3}},
  });
}

TEST(Judge, CountsTheBackendsOfAGroupSeparately) {
  Builder scene(4);
  for (const int rank : {0, 1, 2, 3}) {
    scene.did(rank, "barrier", 12);
    scene.group(rank).backend = "gloo";
    inspect::Group nccl = scene.group(rank);
    nccl.backend = "nccl";
    nccl.operations = {{.name = "all_reduce", .number = 12, .age_s = 4, .done = rank == 3}};
    if (rank == 3) nccl.operations.front().number = 11;
    nccl.begun = rank == 3 ? 11 : 12;
    nccl.done = 11;
    scene.rank(rank).groups.push_back(nccl);
  }
  const Verdict verdict = judge(scene.doing(3, "R", "", 1));
  EXPECT_EQ(name_of(verdict.kind), "working") << all_of(verdict);
}

TEST(Judge, DoesNotHideAPartThatStandsStillBehindOneThatAdvances) {
  Builder scene(6);
  for (const int rank : {0, 1}) scene.in(rank, "all_reduce", 12, 94, "a", {0, 1, 2});
  scene.did(2, "all_reduce", 11, "a", {0, 1, 2}).doing(2, "S", "sleep");
  for (const int rank : {3, 4}) scene.in(rank, "all_reduce", 7, 0.1, "b", {3, 4, 5});
  scene.did(5, "all_reduce", 6, "b", {3, 4, 5});
  scene.group(5, "b").done_before = 2;
  const Verdict verdict = judge(scene);
  EXPECT_EQ(verdict.ranks, std::vector{2}) << all_of(verdict);
}

TEST(Judge, KnowsThatAllWhoStandStillInDifferentOperationsNeverMeet) {
  Builder scene = plain(4, 2, "all_reduce");
  scene.python(2, {kC10d + "barrier", "train.py:81 finish"}).doing(2, "S", "futex");
  scene.scene().silent_s = 15;
  const Verdict verdict = judge(scene);
  EXPECT_EQ(name_of(verdict.kind), "different-collectives") << all_of(verdict);
  EXPECT_TRUE(verdict.hang);
  EXPECT_EQ(verdict.ranks, std::vector{2});
}

TEST(Judge, NamesThePlacesOfCallsOfOneName) {
  Builder scene = plain(4, 2, "all_reduce");
  scene.python(2, {kC10d + "all_reduce", "train.py:40 finish"}).doing(2, "S", "futex");
  const Verdict verdict = judge(scene);
  EXPECT_EQ(name_of(verdict.kind), "different-collectives") << all_of(verdict);
  EXPECT_EQ(verdict.ranks, std::vector{2});
}

TEST(Judge, SeesWorkOnAHostThatHasMoreToDoThanProcessors) {
  Builder scene = missing(400).doing(3, "R", "", 0.26);
  scene.scene().hosts["n4"].processors = 2;
  scene.scene().hosts["n4"].load = 10;
  EXPECT_EQ(name_of(judge(scene).kind), "working") << all_of(judge(scene));
}

TEST(Judge, SaysThatNobodySends) {
  Builder scene = plain(3, -1, "recv");
  const Verdict verdict = judge(scene);
  EXPECT_EQ(name_of(verdict.kind), "everybody-waits") << all_of(verdict);
  EXPECT_EQ(verdict.ranks, (std::vector{0, 1, 2}));
  EXPECT_NE(verdict.headline.find("each other's messages: ranks 0-2 (n1, n2, n3) are in recv"),
            std::string::npos)
      << all_of(verdict);
}

}  // namespace
}  // namespace muster::why
