// The launcher's side of the connection test: which hosts it asks to listen and to connect, and how
// it treats answers that are late, missing or made up.
#include <map>

#include <gtest/gtest.h>

#include "fake_hosts.hpp"
#include "layout/world.hpp"
#include "run/reach_test.hpp"

namespace muster::run {
namespace {

using agent::Order;
using agent::Report;
using facts::Reached;
using layout::good_world;
using layout::World;

ReachPlan plan_of(const World& world) {
  return plan_reach(world.layout(), world.cluster, world.surveys);
}

TEST(ReachPlan, TakesHostsWithRanksAndAnAddressOfTheirOwn) {
  World world = good_world(4);
  world.lose(2, "host-silent", Error{.what = "no answer"});
  const ReachPlan plan = plan_of(world);
  ASSERT_EQ(plan.stations.size(), 3);
  EXPECT_EQ(plan.stations[1].member, 2);
  EXPECT_EQ(plan.stations[1].address, "198.18.0.3");
  EXPECT_EQ(plan.master, (agent::Endpoint{.address = "198.18.0.1", .port = 29500}));
}

TEST(ReachPlan, HasTheLauncherOnlyForAnMpi) {
  World world = good_world(2);
  EXPECT_EQ(plan_of(world).launcher, "198.18.0.250");
  EXPECT_TRUE(plan_of(world).stations[1].calls_launcher);
  world.job.engine = "torchrun";
  EXPECT_EQ(plan_of(world).launcher, "");
}

TEST(ReachPlan, IsEmptyForOneHostThatNeedsNobody) {
  World world = good_world(1);
  world.job.engine = "torchrun";
  EXPECT_TRUE(plan_of(world).stations.empty());
}

class Connections : public testing::Test {
 protected:
  static constexpr int kHosts = 3;

  Connections() : hosts_(loop_, kHosts), crew_(loop_, hosts_, hosts_.names(), options()) {
    for (std::size_t i = 0; i < kHosts; ++i) {
      plan_.stations.push_back({.member = i, .address = "198.18.0." + std::to_string(i + 1)});
      hosts_[i].behaviour.answer = [this, i](const Order& order) { return answer(i, order); };
    }
    plan_.master = {.address = "198.18.0.1", .port = 29500};
  }

  static CrewOptions options() {
    return {.deadline = std::chrono::seconds(15), .for_facts = std::chrono::seconds(15)};
  }

  std::optional<Report> answer(std::size_t host, const Order& order) {
    if (order.kind == Order::Kind::kListen) {
      Report listening{.kind = Report::Kind::kListening, .ports = {40001, 40002}};
      if (order.endpoints.size() > 2) listening.ports.push_back(order.endpoints[2].port);
      return listening;
    }
    targets_[host] = order.targets;
    return Report{.kind = Report::Kind::kConnected,
                  .reached = std::vector(order.targets.size(), Reached::kYes)};
  }

  std::vector<facts::Trial> run() {
    (void)crew_.survey();
    return test_reach(loop_, crew_, plan_);
  }

  FakeLoop loop_;
  FakeHosts hosts_;
  Crew crew_;
  ReachPlan plan_;
  std::vector<agent::Target> targets_[kHosts];
};

TEST_F(Connections, AreTriedFromEachHostToEachPortOfEachOther) {
  EXPECT_EQ(run().size(), 3 * 2 * 2 + 2);  // plus the master port, from two hosts
  EXPECT_EQ(targets_[1].size(), 5);
  EXPECT_LT(loop_.elapsed(), 1);
  // A beat follows, but orders() leaves beats out.
  EXPECT_EQ(hosts_[0].orders(), "hello listen connect close ");
  for (const agent::Target& target : targets_[0]) EXPECT_EQ(target.token.size(), 32);
  EXPECT_NE(targets_[0].front().token, targets_[0].back().token) << "one token per host";
}

TEST_F(Connections, ReportHowTheyEnded) {
  hosts_[2].behaviour.answer = [this](const Order& order) {
    auto report = answer(2, order);
    if (order.kind == Order::Kind::kConnect) {
      for (std::size_t i = 0; i < order.targets.size(); ++i) {
        report->reached[i] = order.targets[i].at.port == 29500 ? Reached::kTimedOut : Reached::kYes;
      }
    }
    return report;
  };
  std::vector<facts::Trial> bad = run();
  std::erase_if(bad, [](const facts::Trial& trial) { return trial.how == Reached::kYes; });
  EXPECT_EQ(
      bad,
      (std::vector<facts::Trial>{{.from = 2, .to = 0, .port = 29500, .how = Reached::kTimedOut}}));
}

TEST_F(Connections, OfAHostThatNeverAnswersCostADeadlineAndSayNothing) {
  hosts_[1].behaviour.answer = [](const Order&) { return std::nullopt; };
  for (const facts::Trial& trial : run()) EXPECT_TRUE(trial.from != 1 && trial.to != 1);
  EXPECT_LE(loop_.elapsed(), 6);
}

TEST_F(Connections, OfAHostWhoseSessionEndsSayNothing) {
  hosts_[1].behaviour.answer = [this](const Order& order) {
    if (order.kind == Order::Kind::kListen) return answer(1, order);
    hosts_[1].vanish(Gone::kCut, 0);
    return std::optional<Report>();
  };
  hosts_[0].behaviour.answers_after_s = 1;
  for (const facts::Trial& trial : run()) EXPECT_TRUE(trial.from != 1 && trial.to != 1);
  EXPECT_LE(loop_.elapsed(), 5);
}

// On kernels before 5.4, the queue of a listener that never accepts holds 129 connections, and
// further ones are dropped.
TEST(ConnectionsToTheLauncher, AreSpreadOverPorts) {
  constexpr int kMany = 250;
  FakeLoop loop;
  FakeHosts hosts(loop, kMany);
  Crew crew(loop, hosts, hosts.names(),
            {.deadline = std::chrono::seconds(15), .for_facts = std::chrono::seconds(15)});
  ReachPlan plan{.launcher = "127.0.0.1"};
  std::map<int, int> callers;
  for (std::size_t i = 0; i < kMany; ++i) {
    plan.stations.push_back({.member = i, .address = "198.18.0.1", .calls_launcher = true});
    hosts[i].behaviour.answer = [&](const Order& order) -> std::optional<Report> {
      for (const agent::Target& target : order.targets) ++callers[target.at.port];
      return Report{.kind = order.kind == Order::Kind::kListen ? Report::Kind::kListening
                                                               : Report::Kind::kConnected,
                    .ports = {0, 0},
                    .reached = {Reached::kYes}};
    };
  }
  (void)crew.survey();
  EXPECT_EQ(test_reach(loop, crew, plan).size(), kMany);
  EXPECT_EQ(callers.size(), 3);
  for (const auto& [port, count] : callers) EXPECT_LE(count, 128);
}

// A host that could name any port could make all others connect to it.
TEST_F(Connections, ToAPortThatAHostMadeUpAreNotTried) {
  for (const std::vector<int>& ports : std::vector<std::vector<int>>{
           {22, 40002}, {40001, -1}, {70000, 40000}, {40001}, {40001, 40002, 40003}, {}}) {
    hosts_[1].behaviour.answer = [&](const Order&) {
      return Report{.kind = Report::Kind::kListening, .ports = ports};
    };
    for (const facts::Trial& trial : run()) EXPECT_TRUE(trial.from != 1 && trial.to != 1);
  }
  hosts_[1].behaviour.answer = [this](const Order& order) { return answer(1, order); };
  hosts_[0].behaviour.answer = [](const Order&) {
    return Report{.kind = Report::Kind::kListening, .ports = {40001, 40002, 22}};
  };
  for (const facts::Trial& trial : run()) EXPECT_TRUE(trial.from != 0 && trial.to != 0);
}

TEST_F(Connections, AreNotTakenFromAHostThatCountsWrong) {
  hosts_[1].behaviour.answer = [this](const Order& order) {
    auto report = answer(1, order);
    report->reached.assign(order.targets.size() + 1, Reached::kRefused);
    return report;
  };
  for (const facts::Trial& trial : run()) EXPECT_NE(trial.from, 1);
}

}  // namespace
}  // namespace muster::run
