#include "why/verdict.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "scenes.hpp"

namespace muster::why {
namespace {

using Builder = SceneBuilder;

struct VerdictCase {
  const char* name;
  std::function<Builder()> scene;
  Kind kind;
  bool hang;
  std::vector<int> ranks;
  const char* part = "";  // of the text
};

std::string all_of(const Verdict& verdict) {
  std::string text = verdict.headline;
  for (const std::string& detail : verdict.details) text += "\n" + detail;
  return text;
}

void expect_verdicts(const std::vector<VerdictCase>& cases) {
  for (const VerdictCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Builder builder = one.scene();
    const Verdict verdict = judge(builder);
    SCOPED_TRACE(all_of(verdict));
    EXPECT_EQ(name_of(verdict.kind), name_of(one.kind));
    EXPECT_EQ(verdict.hang, one.hang);
    if (one.hang) EXPECT_EQ(verdict.ranks, one.ranks);
    EXPECT_NE(all_of(verdict).find(one.part), std::string::npos) << one.part;
  }
}

// Rank 3 of 4 is missing in all_reduce #12.
Builder missing(double age = 94) {
  Builder scene(4);
  scene.others_in(3, "all_reduce", 12, age).did(3, "all_reduce", 11);
  return scene;
}

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
       "Nothing looks stuck"},
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
         return places(missing().doing(3, "R", "", 1).python(3, {"train.py:57 spin"}), 3,
                       {"train.py:57 spin", "train.py:58 spin", "train.py:57 spin"});
       },
       Kind::kLoops,
       true,
       {3},
       "an endless loop, or"},
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
       [] { return missing(20).doing(3, "D", "read of /data/shard-19"); },
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

// Without a recorder.
Builder plain(int ranks, int elsewhere, const std::string& function) {
  Builder scene(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != elsewhere)
      scene.python(rank, {kC10d + function, "train.py:90 main"}).doing(rank, "S", "futex");
  }
  return scene.without_recorder();
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
       "rank 3 (n4) has not entered all_reduce; 3 ranks wait for it"},
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

TEST(Judge, SeesWhoIsNotAtTheRendezvous) {
  expect_verdicts({
      {"prepares",
       [] {
         return plain(4, 2, "init_process_group")
             .doing(2, "S", "sleep")
             .python(2, {"train.py:12 prepare"});
       },
       Kind::kRendezvousIncomplete,
       true,
       {2},
       "3 of 4 ranks have reached the rendezvous; rank 2 (n3) has not: it is at train.py:12 "
       "prepare()"},
      {"not started",
       [] {
         Builder scene = plain(4, 2, "init_process_group");
         scene.state(2).life = RankState::Life::kNotStarted;
         scene.scene().hosts.at("n3").ranks.clear();
         return scene;
       },
       Kind::kRendezvousIncomplete,
       true,
       {2}},
      {"just started",
       [] {
         Builder scene = plain(4, 2, "init_process_group")
                             .doing(2, "S", "sleep")
                             .python(2, {"train.py:12 prepare"});
         scene.scene().started_ago_s = 9;
         return scene;
       },
       Kind::kWaiting,
       false,
       {}},
      {"imports",
       [] {
         return plain(4, 2, "init_process_group")
             .doing(2, "R", "", 1)
             .python(2, {"<frozen importlib._bootstrap>:241 _call", "train.py:1 <module>"});
       },
       Kind::kWorking,
       false,
       {}},
      {"ended",
       [] { return plain(4, 2, "init_process_group").doing(2, "X", ""); },
       Kind::kEnded,
       true,
       {2}},
      {"the master does not answer",
       [] {
         Builder scene = plain(2, -1, "init_process_group");
         scene.scene().master_address = "10.0.0.1";
         scene.scene().master_port = 29500;
         scene.scene().started_ago_s = 15;
         return scene.connect(
             1, {.peer = "10.0.0.1", .peer_port = 29500, .state = "syn-sent", .retransmits = 4});
       },
       Kind::kRendezvousIncomplete,
       true,
       {1},
       "SYN sent 5 times"},
      {"more are expected",
       [] { return plain(3, -1, "init_process_group"); },
       Kind::kRendezvousIncomplete,
       true,
       {0, 1, 2},
       "is the world size larger than 3"},
      {"no rank has started",
       [] {
         Builder scene(2);
         scene.scene().hosts.clear();
         for (const int rank : {0, 1}) scene.state(rank).life = RankState::Life::kNotStarted;
         return scene;
       },
       Kind::kRendezvousIncomplete,
       true,
       {0, 1}},
  });
}

inspect::Connection lost(const std::string& from, const std::string& to) {
  return {.local = from,
          .local_port = 4000,
          .peer = to,
          .peer_port = 5000,
          .state = "established",
          .unsent = 65536,
          .retransmits = 6,
          .since_ack_s = 12};
}

TEST(Judge, SeesThatDataDoesNotArrive) {
  expect_verdicts({
      {"a pair",
       [] {
         return Builder(4)
             .others_in(-1, "all_reduce", 12, 12)
             .connect(0, lost("10.0.0.1", "10.0.0.2"));
       },
       Kind::kNoTransportProgress,
       true,
       {0},
       "between n1 and n2"},
      {"one host",
       [] {
         return Builder(4)
             .others_in(-1, "all_reduce", 12, 12)
             .connect(0, lost("10.0.0.1", "10.0.0.3"))
             .connect(1, lost("10.0.0.2", "10.0.0.3"));
       },
       Kind::kNoTransportProgress,
       true,
       {2},
       "to and from n3"},
      {"to a server outside",
       [] {
         return Builder(4)
             .others_in(-1, "all_reduce", 12, 12)
             .connect(0, lost("10.0.0.1", "8.8.8.8"));
       },
       Kind::kWaiting,
       false,
       {}},
      {"the receiver does not read",
       [] {
         return Builder(4)
             .others_in(-1, "all_reduce", 12, 12)
             .connect(0, lost("10.0.0.1", "10.0.0.2"))
             .connect(1, {.local = "10.0.0.2",
                          .local_port = 5000,
                          .peer = "10.0.0.1",
                          .peer_port = 4000,
                          .state = "established",
                          .unread = 9});
       },
       Kind::kWaiting,
       false,
       {}},
      {"one segment lost",
       [] {
         inspect::Connection some = lost("10.0.0.1", "10.0.0.2");
         some.since_ack_s = 0.4;
         some.retransmits = 1;
         return Builder(4).others_in(-1, "all_reduce", 12, 12).connect(0, some);
       },
       Kind::kWaiting,
       false,
       {}},
      {"a silent host",
       [] {
         Builder scene = missing(40);
         scene.scene().hosts.erase("n4");
         scene.scene().silent_hosts = {"n4"};
         return scene;
       },
       Kind::kHostSilent,
       true,
       {3},
       "n4 does not answer"},
      {"a host that is slow to answer",
       [] {
         Builder scene = missing(4);
         scene.scene().hosts.erase("n4");
         scene.scene().silent_hosts = {"n4"};
         return scene;
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

TEST(Judge, IsFitForLargeJobs) {
  Builder scene(512, 8);
  scene.others_in(77, "all_reduce", 1842, 94).did(77, "all_reduce", 1841).doing(77, "S", "sleep");
  const Verdict verdict = judge(scene);
  EXPECT_EQ(verdict.ranks, std::vector<int>{77});
  EXPECT_EQ(verdict.headline,
            "rank 77 (n10) never entered all_reduce #1842; 511 ranks have waited in it for 94 s");
  EXPECT_LT(evidence_text(scene, verdict).size(), 4000U);
}

TEST(Judge, SurvivesHostileValues) {
  Builder scene(3);
  scene.in(0, "\x1b[2J", -5, -1e300).in(1, "all_reduce", 1, 1e300, "0", {-7, 99999, 1, 1});
  scene.group(0).done = INT64_MIN;
  scene.group(1).done_before = INT64_MAX;
  scene.group(1).operations.back().sizes = "]]]][[[[99999999999999999999999";
  scene.process(2) = {.pid = -1, .parent = -1, .state = "", .cpu = -1e308, .io_bytes = INT64_MIN};
  scene.connect(2, {.unsent = UINT64_MAX, .retransmits = -1, .since_ack_s = -1});
  scene.native(2, {"", "_Z", "((((", "@"}).python(2, {":0 "});
  scene.rank(2).samples = scene.rank(0).samples = 9;
  scene.rank(2).samples_in_collectives = -5;
  const Verdict verdict = judge(scene);
  EXPECT_EQ(verdict_text(verdict).find('\x1b'), std::string::npos);
  EXPECT_EQ(evidence_text(scene, verdict).find('\x1b'), std::string::npos);
  EXPECT_FALSE(judge_slow(scene).headline.empty());
  EXPECT_FALSE(to_json(scene).empty());
}

TEST(JudgeSlow, NamesTheRankThatOthersWaitFor) {
  Builder scene(4);
  for (const int rank : {0, 1, 2, 3}) {
    scene.rank(rank).samples = 100;
    scene.rank(rank).samples_in_collectives = rank == 2 ? 12 : 71;
  }
  scene.rank(2).places = {"train.py:80 augment", "train.py:80 augment", "train.py:9 f"};
  scene.doing(2, "R", "", 0.3);
  const Verdict verdict = judge_slow(scene);
  EXPECT_EQ(verdict.kind, Kind::kStraggler);
  EXPECT_FALSE(verdict.hang);
  EXPECT_EQ(verdict.ranks, std::vector<int>{2});
  EXPECT_NE(verdict.headline.find("12 % of its time in collectives, the others 71 % on average"),
            std::string::npos);
  EXPECT_NE(all_of(verdict).find("gets 30 % of a processor"), std::string::npos);
  scene.rank(2).samples_in_collectives = 60;
  EXPECT_EQ(judge_slow(scene).kind, Kind::kBalanced);
}

TEST(JudgeSlow, NamesTheHostWithTheSlowNetwork) {
  Builder scene(4);
  for (int rank = 0; rank < 4; ++rank) {
    scene.rank(rank).samples = 100;
    scene.rank(rank).samples_in_collectives = 80;
    for (int peer = 0; peer < 4; ++peer) {
      const bool slow = rank == 2 || peer == 2;
      if (peer == rank) continue;
      scene.connect(rank, {.local = "10.0.0." + std::to_string(rank + 1),
                           .peer = "10.0.0." + std::to_string(peer + 1),
                           .state = "established",
                           .busy = slow ? 0.8 : 0.1,
                           .round_trip_s = slow ? 0.02 : 0.0002});
    }
  }
  const Verdict verdict = judge_slow(scene);
  EXPECT_EQ(verdict.kind, Kind::kSlowLink);
  EXPECT_EQ(verdict.hosts, std::vector<std::string>{"n3"});
}

TEST(SceneJson, ReturnsWhatWasWritten) {
  Builder scene = missing().doing(3, "S", "sleep").python(3, {"train.py:57 load"});
  scene.scene().kernel_logs["n1"] = {"Out of memory"};
  const auto again = parse_scene(to_json(scene));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again), to_json(scene));
  EXPECT_EQ(judge(*again).headline, judge(scene).headline);
  EXPECT_FALSE(parse_scene("[1]").has_value());
  EXPECT_NE(to_json(judge(scene)).find("\"kind\":\"not-entered\""), std::string::npos);
}

TEST(EvidenceText, PutsOutliersFirst) {
  Builder scene = plain(4, 3, "all_reduce").doing(3, "S", "sleep").python(3, {"train.py:57 load"});
  scene.rank(0).not_seen = scene.rank(1).not_seen = {"no native stack: ptrace is not permitted"};
  const std::string text = evidence_text(scene, judge(scene));
  EXPECT_LT(text.find("rank 3 (n4):\n    Python"), text.find("ranks 0-2 (n1, n2, n3):\n    Python"))
      << text;
  EXPECT_NE(text.find("ranks 0-1 (n1, n2): no native stack"), std::string::npos) << text;
}

TEST(VerdictText, WrapsAndEndsLines) {
  const std::string text = verdict_text(judge(missing().doing(3, "S", "sleep")));
  EXPECT_TRUE(text.ends_with("\n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 80U);
    at = end + 1;
  }
}

}  // namespace
}  // namespace muster::why
