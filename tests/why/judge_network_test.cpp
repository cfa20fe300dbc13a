// Verdicts on the rendezvous, the network and hosts that do not answer.
#include <gtest/gtest.h>

#include "verdict_cases.hpp"
#include "why/verdict.hpp"

namespace muster::why {
namespace {

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
      {"to the only host that does not answer",
       [] {
         Builder scene(4);
         scene.others_in(-1, "all_reduce", 12, 12).connect(0, lost("10.0.0.1", "10.0.0.4"));
         scene.scene().hosts.erase("n4");
         scene.scene().silent_hosts = {"n4"};
         return scene;
       },
       Kind::kNoTransportProgress,
       true,
       {0},
       "between n1 and n4"},
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

}  // namespace
}  // namespace muster::why
