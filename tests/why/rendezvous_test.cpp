// Verdicts on ranks that have not met yet, and on jobs in which no rank is known to wait.
#include <gtest/gtest.h>

#include "verdict_cases.hpp"
#include "why/verdict.hpp"

namespace muster::why {
namespace {

const inspect::Connection kToMaster{.local = "10.0.0.1",
                                    .local_port = 4000,
                                    .peer = "10.0.0.1",
                                    .peer_port = 29500,
                                    .state = "established"};

Builder with_master(Builder scene) {
  scene.scene().master_address = "n1";
  scene.scene().master_port = 29500;
  return scene;
}

// All ranks but `missing` have been in the rendezvous for this long.
Builder at_rendezvous_but(int missing, double waited_s) {
  Builder scene = plain(4, missing, "init_process_group");
  scene.scene().started_ago_s = scene.scene().silent_s = waited_s;
  return scene;
}

// Ranks of a C program that poll in MPI and whose stacks cannot be read.
Builder polling_unseen(int ranks) {
  Builder scene(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    scene.doing(rank, "R", "", 1);
    scene.rank(rank).not_seen = {
        "no native stack: ptrace is not permitted for this process (kernel.yama.ptrace_scope is "
        "1)"};
  }
  return scene.without_recorder();
}

TEST(Rendezvous, LeavesBadConnectionsBetweenRanksToTheirJudge) {
  expect_verdicts({
      {"a firewall between two ranks",
       [] {
         return plain(3, -1, "init_process_group")
             .connect(1, {.local = "10.0.0.2",
                          .peer = "10.0.0.3",
                          .peer_port = 41000,
                          .state = "syn-sent",
                          .retransmits = 5});
       },
       Kind::kNoTransportProgress,
       true,
       {1},
       "between n2 and n3"},
  });
}

TEST(Rendezvous, IsPatientWithRanksThatMayBeOnTheirWay) {
  const auto importing = [](double waited_s) {
    return at_rendezvous_but(2, waited_s).doing(2, "D", "read of /nfs/torch/lib/libtorch.so");
  };
  expect_verdicts({
      {"imports from a slow disk", [&] { return importing(45); }, Kind::kWaiting, false, {}},
      {"for too long", [&] { return importing(70); }, Kind::kUninterruptible, true, {2}},
      {"sleeps",
       [] { return at_rendezvous_but(2, 45).doing(2, "S", "sleep"); },
       Kind::kWaiting,
       false,
       {}},
      {"sleeps for too long",
       [] { return at_rendezvous_but(2, 70).doing(2, "S", "sleep"); },
       Kind::kRendezvousIncomplete,
       true,
       {2}},
      {"is stopped",
       [] { return at_rendezvous_but(2, 10).doing(2, "T", ""); },
       Kind::kStopped,
       true,
       {2}},
      {"has ended",
       [] {
         Builder scene = at_rendezvous_but(2, 10);
         scene.state(2) = {
             .rank = 2, .host = "n3", .life = RankState::Life::kEnded, .end = "exit code 1"};
         return scene;
       },
       Kind::kEnded,
       true,
       {2}},
      {"waits for input",
       [] { return at_rendezvous_but(2, 10).doing(2, "S", "read of standard input (a pipe)"); },
       Kind::kWaitsForInput,
       true,
       {2}},
  });
}

TEST(Rendezvous, TellsOfMissingConnectionsOnlyWhereItIsSure) {
  const auto text_on = [](Builder scene) { return all_of(judge(with_master(std::move(scene)))); };
  Builder scene = at_rendezvous_but(2, 600).doing(2, "S", "sleep");
  EXPECT_EQ(text_on(scene).find("no connection to"), std::string::npos) << "nobody has one";
  scene.connect(0, kToMaster);
  EXPECT_NE(text_on(scene).find("rank 2 (n3) has no connection to n1:29500"), std::string::npos)
      << text_on(scene);
  scene.scene().hosts.at("n3").not_seen = {"no connections: the host did not list them in time"};
  EXPECT_EQ(text_on(scene).find("no connection to"), std::string::npos) << text_on(scene);
}

TEST(Rendezvous, AccusesNobodyForAConnectionThatWasNotSeen) {
  const auto all_inside = [] {
    Builder scene = with_master(plain(3, -1, "init_process_group"));
    return scene.connect(0, kToMaster).connect(1, kToMaster);
  };
  expect_verdicts({
      {"elsewhere", all_inside, Kind::kRendezvousIncomplete, true, {2}, "rank 2 (n3) has not"},
      {"sockets not listed",
       [&] {
         Builder scene = all_inside();
         scene.scene().hosts.at("n3").not_seen = {"no connections: too slow"};
         return scene;
       },
       Kind::kRendezvousIncomplete,
       true,
       {0, 1, 2},
       "is the world size larger than 3"},
      {"MPI, which does not use the master",
       [] {
         Builder scene(2);
         for (const int rank : {0, 1}) scene.native(rank, {"poll", "PMPI_Init", "main"});
         return with_master(scene.without_recorder());
       },
       Kind::kRendezvousIncomplete,
       true,
       {0, 1},
       "is the world size larger than 2"},
  });
}

TEST(Rendezvous, WordsItsVerdictsWell) {
  const auto headline_of = [](Builder scene) { return judge(scene).headline; };
  EXPECT_EQ(headline_of(plain(1, -1, "init_process_group")),
            "the only rank is in the rendezvous and waits for more, for at most 10 min: is the "
            "world size larger than 1, or do they meet at different addresses?");
  const inspect::Connection syn{
      .peer = "10.0.0.9", .peer_port = 29500, .state = "syn-sent", .retransmits = 4};
  EXPECT_EQ(headline_of(with_master(plain(1, -1, "init_process_group").connect(0, syn))),
            "rank 0 (n1) does not reach the rendezvous at n1:29500: the connection gets no answer");
  Builder input(2);
  input.doing(0, "S", "read of standard input (/dev/pts/3)").doing(1, "S", "sleep");
  EXPECT_EQ(headline_of(input),
            "rank 0 (n1) waits for input, and nothing has been printed for 10 min");
  Builder late(2);
  late.scene().hosts.erase("n2");
  late.state(1).life = RankState::Life::kNotStarted;
  EXPECT_EQ(headline_of(late), "rank 1 (n2) has not started, 10 min after the launch");
}

TEST(Quiet, SaysThatStacksCouldNotBeRead) {
  const Verdict verdict = judge(polling_unseen(4));
  EXPECT_EQ(verdict.kind, Kind::kUnknown);
  EXPECT_FALSE(verdict.hang);
  EXPECT_EQ(verdict.headline,
            "4 ranks compute or poll, but muster could not read their stacks, so it cannot tell "
            "whether ranks wait for each other");
  EXPECT_NE(all_of(verdict).find("ptrace_scope is 1"), std::string::npos) << all_of(verdict);
  EXPECT_NE(verdict.next.find("kernel.yama.ptrace_scope=0"), std::string::npos) << verdict.next;

  Builder sleeping = Builder(2).without_recorder();
  sleeping.rank(0).not_seen = {"no native stack: eu-stack (package elfutils) is not installed"};
  EXPECT_EQ(judge(sleeping).headline,
            "no rank computes, but muster could not read their stacks, so it cannot tell whether "
            "ranks wait for each other");
  EXPECT_EQ(judge(sleeping).next, "install elfutils on the hosts");
}

TEST(Quiet, DoesNotPointToStacksThatAreMissing) {
  Builder unseen(2);
  for (const int rank : {0, 1}) {
    unseen.rank(rank).processes.clear();
    unseen.rank(rank).not_seen = {"nothing: no thread could be started to look at it"};
  }
  EXPECT_EQ(judge(unseen).next.find("stacks below"), std::string::npos) << judge(unseen).next;
  EXPECT_EQ(judge(Builder(2).doing(0, "X", "").doing(1, "X", "")).next,
            "see the last output of the ranks");
}

TEST(Quiet, NamesALoneRankThatIsStuck) {
  expect_verdicts({
      {"lock",
       [] { return polling_unseen(4).doing(2, "S", "lock of /tmp/x, held by process 99"); },
       Kind::kWaitsForLock,
       true,
       {2},
       "lock of /tmp/x, held by process 99"},
      {"state D",
       [] { return polling_unseen(4).doing(2, "D", "read of /nfs/x"); },
       Kind::kUninterruptible,
       true,
       {2},
       "rank 2 (n3) hangs in the kernel (state D)"},
      {"state D, not for long",
       [] {
         Builder scene = polling_unseen(4).doing(2, "D", "read of /nfs/x");
         scene.scene().silent_s = 20;
         return scene;
       },
       Kind::kUnknown,
       false,
       {}},
      {"state D, but reads",
       [] {
         Builder scene = polling_unseen(4).doing(2, "D", "read of /nfs/x");
         scene.process(2).io_bytes = 4096;
         return scene;
       },
       Kind::kUnknown,
       false,
       {}},
      {"the others compute",
       [] {
         Builder scene = Builder(2).without_recorder().doing(1, "D", "read of /nfs/x");
         return scene.doing(0, "R", "", 1).native(0, {"dgemm_kernel", "step()", "main"});
       },
       Kind::kUninterruptible,
       false,
       {}},
  });
}

}  // namespace
}  // namespace muster::why
