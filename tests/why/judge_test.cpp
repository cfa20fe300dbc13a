#include <gtest/gtest.h>

#include "verdict_cases.hpp"
#include "why/verdict.hpp"

namespace muster::why {
namespace {

Builder places(Builder scene, int rank, const std::vector<std::string>& places) {
  scene.rank(rank).places = places;
  return scene;
}

TEST(Judge, NamesRanksThatOthersWaitFor) {
  expect_verdicts({
      {"sleeps",
       [] { return missing().doing(3, "S", "sleep").python(3, {"train.py:57 load"}); },
       Kind::kNotEntered,
       true,
       {3},
       "rank 3 (n4) never entered all_reduce #12; 3 ranks have waited in it for 94 s"},
      {"sleeps, not for long",
       [] { return missing(12).doing(3, "S", "sleep"); },
       Kind::kWaiting,
       false,
       {}},
      {"earlier pauses were long",
       [] {
         Builder scene = missing();
         scene.group(0).longest_gap_s = 60;
         return scene.doing(3, "S", "sleep");
       },
       Kind::kWaiting,
       false,
       {}},
      {"computes",
       [] {
         return places(missing(400).doing(3, "R", "", 0.98), 3,
                       {"eval.py:30 evaluate", "eval.py:44 score", "eval.py:30 evaluate"});
       },
       Kind::kWorking,
       false,
       {},
       "nothing looks stuck"},
      {"computes in a library",
       [] {
         return places(missing(400)
                           .doing(3, "R", "", 0.98)
                           .python(3, {"eval.py:30 evaluate"})
                           .native(3, {"at::native::sum", "_PyEval_EvalFrameDefault"}),
                       3, {"eval.py:30 evaluate", "eval.py:30 evaluate", "eval.py:30 evaluate"});
       },
       Kind::kWorking,
       false,
       {}},
      {"reads much",
       [] {
         Builder scene = missing(400).doing(3, "D", "read of /data/x", 0.1);
         scene.process(3).io_bytes = 50'000'000;
         return scene;
       },
       Kind::kWorking,
       false,
       {}},
      {"loops",
       [] {
         return places(missing(200).doing(3, "R", "", 1).python(3, {"train.py:57 spin"}), 3,
                       {"train.py:57 spin", "train.py:58 spin", "train.py:57 spin"});
       },
       Kind::kLoops,
       true,
       {3},
       "an endless loop, or"},
      {"loops on a crowded host",
       [] {
         Builder scene =
             places(missing(200).doing(3, "R", "", 0.14).python(3, {"train.py:57 spin"}), 3,
                    {"train.py:57 spin", "train.py:58 spin", "train.py:57 spin"});
         inspect::HostView& host = scene.scene().hosts["n4"];
         host.processors = 2;
         host.load = 13;
         return scene;
       },
       Kind::kLoops,
       true,
       {3}},
      {"is stopped", [] { return missing(1).doing(3, "T", ""); }, Kind::kStopped, true, {3}},
      {"is frozen",
       [] {
         Builder scene = missing(1);
         scene.process(3).waits_in = "do_freezer_trap";
         return scene;
       },
       Kind::kStopped,
       true,
       {3}},
      {"is stopped in the collective",
       [] { return Builder(4).others_in(-1, "all_reduce", 12, 9).doing(2, "T", "futex"); },
       Kind::kStopped,
       true,
       {2}},
      {"state D",
       [] { return missing(40).doing(3, "D", "read of /data/shard-19"); },
       Kind::kUninterruptible,
       true,
       {3},
       "read of /data/shard-19 (state D)"},
      {"state D for a moment",
       [] { return missing(3).doing(3, "D", "read of /data/shard-19"); },
       Kind::kWaiting,
       false,
       {}},
      {"writes to a slow disk",
       [] { return missing(20).doing(3, "D", "write of /ckpt (fsync)"); },
       Kind::kWaiting,
       false,
       {}},
      {"wants to run on a crowded host",
       [] {
         Builder scene = missing(34).doing(3, "R", "", 0.0996);
         inspect::HostView& host = scene.scene().hosts["n4"];
         host.processors = 2;
         host.load = 13;
         return scene;
       },
       Kind::kWorking,
       false,
       {},
       "rank 3 (n4) computes (10 % of a processor"},
      {"file lock",
       [] { return missing(40).doing(3, "S", "lock of /tmp/lock"); },
       Kind::kWaitsForLock,
       true,
       {3}},
      {"file lock for a moment",
       [] { return missing(8).doing(3, "S", "lock of /tmp/lock"); },
       Kind::kWaiting,
       false,
       {}},
      {"thread lock",
       [] {
         return missing(40)
             .doing(3, "S", "futex")
             .python(3, {"threading.py:320 wait", "train.py:5 f"});
       },
       Kind::kWaitsForLock,
       true,
       {3}},
      {"input",
       [] { return missing(2).doing(3, "S", "read of standard input (/dev/pts/3)"); },
       Kind::kWaitsForInput,
       true,
       {3}},
      {"data loader",
       [] {
         return missing(40)
             .doing(3, "S", "poll")
             .python(3, {"queue.py:1 get",
                         "/v/site-packages/torch/utils/data/dataloader.py:9 _try_get_data",
                         "train.py:5 f"});
       },
       Kind::kNotEntered,
       true,
       {3}},
      {"ended",
       [] {
         Builder scene = missing(20);
         scene.state(3) = {.rank = 3,
                           .host = "n4",
                           .life = RankState::Life::kEnded,
                           .end = "exit code 0",
                           .ended_ago_s = 20};
         scene.rank(3) = {.rank = 3};
         return scene;
       },
       Kind::kEnded,
       true,
       {3},
       "has ended (exit code 0) 20 s ago"},
      {"zombie", [] { return missing(20).doing(3, "Z", ""); }, Kind::kEnded, true, {3}},
  });
}

TEST(Judge, KnowsRanksThatLeaveTheirProgram) {
  expect_verdicts({
      {"at the exit of C",
       [] {
         return missing(12)
             .native(3, {"clock_nanosleep", "?", "__run_exit_handlers", "exit", "Py_Exit"})
             .doing(3, "R", "", 0.15);
       },
       Kind::kEnded,
       true,
       {3},
       "rank 3 (n4) is leaving its program; 3 ranks have waited for it in all_reduce #12 for 12 s"},
      {"at the exit of C, in a backend that polls what is outstanding",
       [] {
         return missing(12)
             .native(3, {"epoll_wait", "opal_progress", "PMPI_Test", "?", "__run_exit_handlers",
                         "exit", "Py_Exit"})
             .doing(3, "R", "", 0.15);
       },
       Kind::kEnded,
       true,
       {3}},
      {"Python waits for a thread",
       [] {
         return missing(12)
             .python(3, {"/usr/lib/python3.11/threading.py:1583 _shutdown"})
             .doing(3, "S", "futex");
       },
       Kind::kEnded,
       true,
       {3}},
      {"for a moment",
       [] { return missing(2).native(3, {"close", "__run_exit_handlers", "exit", "main"}); },
       Kind::kWaiting,
       false,
       {}},
      {"MPI_Finalize",
       [] {
         Builder scene(3);
         for (const int rank : {0, 1}) scene.native(rank, {"poll", "PMPI_Barrier", "main"});
         scene.native(2, {"read", "PMPI_Finalize", "main"});
         return scene.without_recorder();
       },
       Kind::kEnded,
       true,
       {2},
       "rank 2 (n3) never entered MPI_Barrier, but is already in MPI_Finalize"},
  });
}

TEST(Judge, FollowsWaitsToTheirBeginning) {
  expect_verdicts({
      {"a rank waits elsewhere for the culprit",
       [] {
         Builder scene(4);
         scene.in(0, "all_reduce", 12, 50).in(1, "all_reduce", 12, 50);
         scene.did(2, "all_reduce", 11).in(2, "broadcast", 4, 50, "tp", {2, 3});
         scene.did(3, "all_reduce", 11).did(3, "broadcast", 3, "tp", {2, 3});
         return scene.doing(3, "S", "sleep");
       },
       Kind::kNotEntered,
       true,
       {3}},
      {"a circle of groups",
       [] {
         Builder scene(2);
         scene.in(0, "all_reduce", 1, 50, "a", {0, 1}).did(0, "all_reduce", 0, "b", {0, 1});
         return scene.in(1, "all_reduce", 1, 50, "b", {0, 1}).did(1, "all_reduce", 0, "a", {0, 1});
       },
       Kind::kEverybodyWaits,
       true,
       {0, 1}},
      {"two columns of a grid wait for two ranks that make a group",
       [] {
         Builder scene(4);
         for (const int rank : {0, 1}) {
           const std::string column = std::to_string(rank);
           scene.in(rank + 2, "all_reduce", 13, 50, column, {rank, rank + 2});
           scene.did(rank, "all_reduce", 12, column, {rank, rank + 2});
           scene.python(rank, {kC10d + "new_group", "train.py:52 metrics_group"});
           scene.rank(rank).places.assign(5, "train.py:52 metrics_group");
           scene.doing(rank, "S", "poll");
         }
         return scene;
       },
       Kind::kDifferentCollectives,
       true,
       {0, 1, 2, 3},
       "ranks 2-3 (n3, n4) in all_reduce #13"},
      {"one rank is in a second group of the same ranks",
       [] {
         Builder scene(4);
         scene.others_in(3, "all_reduce", 25, 50).did(3, "all_reduce", 24);
         for (const int rank : {0, 1, 2}) scene.group(rank, "1", {0, 1, 2, 3});
         return scene.in(3, "barrier", 1, 50, "1", {0, 1, 2, 3});
       },
       Kind::kDifferentCollectives,
       true,
       {3},
       "rank 3 (n4) in barrier #1 of group 1"},
      {"messages",
       [] {
         Builder scene(2);
         scene.in(0, "recv 0<-1", 0, 50);
         return scene.in(1, "recv 1<-0", 0, 50);
       },
       Kind::kEverybodyWaits,
       true,
       {0, 1}},
      {"a message that nobody sends",
       [] {
         Builder scene(3);
         scene.in(0, "recv 0<-2", 0, 50);
         return scene.doing(1, "R", "", 1).doing(2, "S", "sleep");
       },
       Kind::kNotEntered,
       true,
       {2}},
      {"everybody is in it and nothing moves",
       [] { return Builder(4).others_in(-1, "all_reduce", 12, 90); },
       Kind::kUnknown,
       true,
       {0, 1, 2, 3}},
      {"everybody is in it and data moves",
       [] {
         Builder scene = Builder(4).others_in(-1, "all_reduce", 12, 90);
         return scene.connect(0, {.state = "established", .unsent = 5000, .busy = 0.9});
       },
       Kind::kWorking,
       false,
       {}},
      {"everybody is in it, not for long",
       [] { return Builder(4).others_in(-1, "all_reduce", 12, 9); },
       Kind::kWaiting,
       false,
       {}},
  });
}

TEST(Judge, FindsMismatches) {
  expect_verdicts({
      {"other collective",
       [] { return Builder(4).others_in(2, "all_reduce", 12, 50).in(2, "barrier", 12, 50); },
       Kind::kDifferentCollectives,
       true,
       {2}},
      {"a broadcast left out",
       [] {
         Builder scene(3);
         for (const int rank : {0, 1})
           scene.did(rank, "broadcast", 11).in(rank, "all_reduce", 12, 50);
         return scene.in(2, "all_reduce", 11, 50);
       },
       Kind::kDifferentCollectives,
       true,
       {2},
       "rank 2 (n3) left out broadcast #11"},
      {"other size",
       [] {
         Builder scene = Builder(4).others_in(-1, "all_reduce", 12, 50);
         scene.group(1).operations.back().sizes = "[[999]]";
         return scene;
       },
       Kind::kDifferentSizes,
       true,
       {1},
       "[[999]]"},
      {"same number of elements",
       [] {
         Builder scene = Builder(4).others_in(-1, "all_reduce", 12, 5);
         scene.group(1).operations.back().sizes = "[[10, 100]]";
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"gathered sizes may differ",
       [] {
         Builder scene = Builder(4).others_in(-1, "gather", 12, 5);
         scene.group(1).operations.back().sizes = "[[10]]";
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"the job advances",
       [] {
         Builder scene = Builder(2).others_in(-1, "all_reduce", 12, 0);
         for (const int rank : {0, 1}) scene.group(rank).done_before = 3;
         return scene;
       },
       Kind::kProgress,
       false,
       {},
       "advances: "},
  });
}

TEST(Judge, ReadsStacksWhereNothingWasRecorded) {
  expect_verdicts({
      {"sleeps",
       [] {
         return plain(4, 3, "all_reduce").doing(3, "S", "sleep").python(3, {"train.py:57 load"});
       },
       Kind::kNotEntered,
       true,
       {3},
       "rank 3 (n4) has not entered all_reduce; 3 ranks wait in it"},
      {"not silent for long",
       [] {
         Builder scene =
             plain(4, 3, "all_reduce").doing(3, "S", "sleep").python(3, {"train.py:57 load"});
         scene.scene().silent_s = 10;
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"the others move",
       [] {
         return plain(4, 3, "all_reduce")
             .doing(1, "S", "futex", 0.4)
             .doing(3, "S", "sleep")
             .python(3, {"train.py:57 load"});
       },
       Kind::kWaiting,
       false,
       {}},
      {"computes",
       [] {
         return plain(4, 3, "all_reduce")
             .doing(3, "R", "", 1)
             .python(3, {"/v/site-packages/numpy/x.py:5 f", "train.py:57 load"});
       },
       Kind::kWorking,
       false,
       {}},
      {"is stopped",
       [] { return plain(4, 3, "all_reduce").doing(3, "T", ""); },
       Kind::kStopped,
       true,
       {3}},
      {"other collective",
       [] {
         return plain(4, 3, "all_reduce")
             .doing(3, "S", "futex")
             .python(3, {kC10d + "barrier", "train.py:9 f"});
       },
       Kind::kDifferentCollectives,
       true,
       {3}},
      {"both receive", [] { return plain(2, -1, "recv"); }, Kind::kEverybodyWaits, true, {0, 1}},
      {"backward of DDP",
       [] {
         Builder scene(2);
         scene.native(0, {"pthread_cond_wait@@GLIBC_2.3.2", "c10d::Reducer::finalize_backward()",
                          "_PyEval_EvalFrameDefault"});
         return scene
             .python(0, {"/v/site-packages/torch/autograd/graph.py:979 _engine_run_backward",
                         "train.py:9 f"})
             .doing(0, "S", "futex")
             .doing(1, "S", "sleep")
             .python(1, {"train.py:3 g"})
             .without_recorder();
       },
       Kind::kNotEntered,
       true,
       {1}},
      {"C++",
       [] {
         Builder scene(3);
         for (const int rank : {0, 1})
           scene.native(rank, {"sched_yield", "PMPI_Allreduce", "step()", "main"})
               .doing(rank, "R", "", 1);
         return scene.native(2, {"clock_nanosleep", "usleep", "read_shard(int)", "main"})
             .doing(2, "S", "sleep")
             .without_recorder();
       },
       Kind::kNotEntered,
       true,
       {2},
       "read_shard() <- main()"},
      {"C++, different operations of a job that may advance",
       [] {
         Builder scene(2);
         scene.native(0, {"PMPI_Allreduce", "main"}).doing(0, "R", "", 1);
         scene.scene().silent_s = 50;
         return scene.native(1, {"PMPI_Bcast", "main"}).doing(1, "R", "", 1).without_recorder();
       },
       Kind::kWaiting,
       false,
       {}},
  });
}

TEST(Judge, AccusesNobodyWhereNobodyWaits) {
  expect_verdicts({
      {"nothing is known", [] { return Builder(0); }, Kind::kUnknown, false, {}},
      {"all compute",
       [] { return Builder(2).doing(0, "R", "", 1).doing(1, "R", "", 1); },
       Kind::kWorking,
       false,
       {}},
      {"all sleep",
       [] { return Builder(2).doing(0, "S", "sleep").doing(1, "S", "sleep"); },
       Kind::kUnknown,
       false,
       {}},
      {"all are stopped",
       [] { return Builder(2).doing(0, "T", "").doing(1, "T", ""); },
       Kind::kStopped,
       true,
       {0, 1}},
      {"one has ended, and no other waits",
       [] { return Builder(2).doing(0, "Z", "").doing(1, "R", "", 1); },
       Kind::kWorking,
       false,
       {}},
  });
}

}  // namespace
}  // namespace muster::why
