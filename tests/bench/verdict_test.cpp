#include <gtest/gtest.h>

#include "bench/judge.hpp"

namespace muster::bench {
namespace {

constexpr double kGbit = 1e9 / 8;

Results two_hosts(double busbw) {
  const HostFacts host{.name = "n1", .interface = "eth0", .mtu = 1500, .speed_mbit = 1000};
  HostFacts other = host;
  other.name = "n2";
  return {.kind = "collectives",
          .ranks = 2,
          .hosts = {host, other},
          .measurements = {{.operation = "all-reduce",
                            .backend = "mpi",
                            .ranks = 2,
                            .bytes = 8,
                            .busbw = 99 * kGbit},
                           {.operation = "all-reduce",
                            .backend = "mpi",
                            .ranks = 2,
                            .bytes = 16 << 20,
                            .busbw = busbw}}};
}

const Judgement& about(const std::vector<Judgement>& verdicts, const std::string& what) {
  for (const Judgement& verdict : verdicts) {
    if (verdict.about.find(what) != std::string::npos) return verdict;
  }
  static const Judgement none{.about = "none"};
  return none;
}

TEST(Judgement, ALinkThatGivesWhatItSaysPasses) {
  const auto verdicts = judge(two_hosts(0.94 * kGbit), 0);
  const Judgement& verdict = about(verdicts, "all-reduce");
  EXPECT_EQ(verdict.outcome, Judgement::Outcome::kPass) << verdict.text;
  EXPECT_NEAR(verdict.expected, 0.9415 * kGbit, 0.001 * kGbit);
  EXPECT_NE(verdict.text.find("eth0 reports 1.00 Gbit/s"), std::string::npos) << verdict.text;
}

TEST(Judgement, HalfOfItFailsAndSaysWhatToDo) {
  const auto verdicts = judge(two_hosts(0.4 * kGbit), 0);
  const Judgement& verdict = about(verdicts, "all-reduce");
  EXPECT_EQ(verdict.outcome, Judgement::Outcome::kFail);
  EXPECT_NE(verdict.text.find("muster bench pairs"), std::string::npos);
}

TEST(Judgement, TheSlowestHostsLinkCounts) {
  Results results = two_hosts(0.09 * kGbit);
  results.hosts[1].speed_mbit = 100;
  EXPECT_EQ(about(judge(results, 0), "all-reduce").outcome, Judgement::Outcome::kPass);
  EXPECT_EQ(expected_link(results, 0).why,
            "n2's eth0 reports 100 Mbit/s, of which TCP with MTU 1500 can use 94 %");
}

TEST(Judgement, WhatTheUserExpectsWins) {
  EXPECT_EQ(about(judge(two_hosts(0.09 * kGbit), 0.1 * kGbit), "all-reduce").outcome,
            Judgement::Outcome::kPass);
}

TEST(Judgement, NobodyKnowsIsNotGood) {
  Results results = two_hosts(kGbit);
  results.hosts[0].speed_mbit = -1;
  const auto verdicts = judge(results, 0);
  EXPECT_EQ(about(verdicts, "all-reduce").outcome, Judgement::Outcome::kUnknown);
  EXPECT_NE(about(verdicts, "all-reduce").text.find("--expect"), std::string::npos);
}

// Returns results of hosts with RDMA, of which n1 sent through these devices.
Results with_rdma(const std::string& backend, const std::vector<Traffic::Device>& devices) {
  Results results = two_hosts(0.94 * kGbit);
  for (HostFacts& host : results.hosts) host.rdma = "mlx5_0:1, 100 Gb/sec (4X EDR)";
  results.traffic = {
      {.host = "n1", .backend = backend, .operation = "all-reduce", .devices = devices}};
  return results;
}

TEST(Judgement, RdmaThatIsNotUsedIsLoud) {
  Results results = with_rdma(
      "mpi", {{.name = "eth0", .sent = 1 << 30}, {.name = "mlx5_0:1", .rdma = true, .sent = 4096}});
  const auto verdicts = judge(results, 0);
  const Judgement& loud = about(verdicts, "RDMA IS AVAILABLE");
  EXPECT_EQ(loud.outcome, Judgement::Outcome::kFail);
  EXPECT_NE(loud.text.find("n1 sent 1024 MiB through eth0"), std::string::npos) << loud.text;
  EXPECT_EQ(&loud, &verdicts.front());

  results.traffic[0].devices = {{.name = "eth0", .sent = 4096},
                                {.name = "mlx5_0:1", .rdma = true, .sent = 1 << 30}};
  results.measurements[1].rdma = true;
  results.measurements[1].busbw = 95 * kGbit;
  const auto good = judge(results, 0);
  EXPECT_EQ(about(good, "RDMA IS AVAILABLE").about, "none");
  EXPECT_EQ(about(good, "all-reduce").outcome, Judgement::Outcome::kPass);
  EXPECT_NEAR(about(good, "all-reduce").expected, 95 * kGbit, kGbit);
}

TEST(Judgement, GlooCannotDoRdmaAndIsNotBlamed) {
  const Results results = with_rdma("gloo", {{.name = "eth0", .sent = 1 << 30}});
  EXPECT_EQ(about(judge(results, 0), "RDMA IS AVAILABLE").outcome, Judgement::Outcome::kUnknown);
}

TEST(Judgement, FewRanksOnOneHostSayNothingOfTheLink) {
  Results results = two_hosts(0.1 * kGbit);
  results.ranks = 4;
  for (Measurement& one : results.measurements) one.ranks = 4;
  results.measurements.push_back({.operation = "all-reduce",
                                  .backend = "mpi",
                                  .ranks = 2,
                                  .bytes = 16 << 20,
                                  .busbw = 80 * kGbit});
  EXPECT_EQ(about(judge(results, 0), "all-reduce").outcome, Judgement::Outcome::kFail);
}

TEST(Judgement, ABackendThatFallsBehindIsNamed) {
  Results results = two_hosts(0.3 * kGbit);
  results.measurements.push_back({.operation = "all-reduce",
                                  .backend = "gloo",
                                  .ranks = 2,
                                  .bytes = 16 << 20,
                                  .busbw = 0.93 * kGbit});
  const auto verdicts = judge(results, 0);
  const Judgement& verdict = about(verdicts, "all-reduce");
  EXPECT_EQ(verdict.outcome, Judgement::Outcome::kPass);
  EXPECT_NE(verdict.text.find("mpi reaches only 32 %"), std::string::npos) << verdict.text;
}

TEST(Judgement, PairsThatWereNotAllMeasuredDoNotPass) {
  Results results = two_hosts(0);
  results.kind = "pairs";
  results.measurements.clear();
  results.pairs = {{.one = "n1", .other = "n2", .forward = 0.94 * kGbit, .backward = 0.93 * kGbit}};
  results.cut_short = "interrupted";
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kUnknown);
  results.cut_short.clear();
  results.hosts[0].rdma = "mlx5_0:1, 100 Gb/sec (4X EDR)";
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kUnknown);
}

TEST(Judgement, WrongDataFailsWhateverTheSpeed) {
  Results results = two_hosts(0.94 * kGbit);
  results.measurements[1].wrong = 1;
  const auto verdicts = judge(results, 0);
  EXPECT_EQ(about(verdicts, "the data").outcome, Judgement::Outcome::kFail);
  EXPECT_NE(about(verdicts, "the data").text.find("16777216 bytes: 1 elements"), std::string::npos);
}

TEST(Judgement, SeveralRanksOfAHostShareItsLinkInAnAllToAll) {
  EXPECT_DOUBLE_EQ(expected_busbw("all-to-all", 2, 2, 100), 100);
  // With 2 hosts x 2 ranks, each rank sends 2/4 of its buffer to the other host, so one buffer
  // leaves each host. busbw counts only 3/4 of a buffer for the same time.
  EXPECT_DOUBLE_EQ(expected_busbw("all-to-all", 4, 2, 100), 75);
  EXPECT_DOUBLE_EQ(expected_busbw("all-reduce", 4, 2, 100), 100);
}

TEST(Judgement, ASlowHostFailsThePairs) {
  Results results = two_hosts(0);
  results.kind = "pairs";
  results.measurements.clear();
  results.pairs = {{.one = "n1", .other = "n2", .forward = 0.94 * kGbit, .backward = 0.93 * kGbit}};
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kPass);
  results.suspects = {{.hosts = {"n2"}, .confirmed = false}};
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kPass);
  results.suspects[0].confirmed = true;
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kFail);
}

TEST(Judgement, TheOnlyLinkFailsIfItLosesFramesEvenWithoutAnExpectation) {
  Results results = two_hosts(0);
  results.kind = "pairs";
  results.measurements.clear();
  results.hosts[0].rdma = "rxe0:1, 2.5 Gb/sec (1X SDR)";
  results.pairs = {{.one = "n1", .other = "n2", .forward = 1e6, .backward = 1e6, .resent = 0.009}};
  EXPECT_EQ(about(judge(results, 0), "1 pairs").outcome, Judgement::Outcome::kUnknown);
  results.pairs[0].resent = 0.052;
  const auto verdicts = judge(results, 0);
  const Judgement& verdict = about(verdicts, "1 pairs");
  EXPECT_EQ(verdict.outcome, Judgement::Outcome::kFail);
  EXPECT_NE(verdict.text.find("the link between n1 and n2 loses frames: 5.2 %"), std::string::npos)
      << verdict.text;
}

}  // namespace
}  // namespace muster::bench
