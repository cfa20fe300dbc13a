// Findings from connections that were tried between hosts.
#include <functional>

#include <gtest/gtest.h>

#include "checks/judged.hpp"
#include "checks/reach_groups.hpp"

namespace muster::checks {
namespace {

using facts::Reached;
using facts::Trial;

// Says how a connection from one host to a port of another ends. Hosts are numbered from 1.
using Network = std::function<Reached(int from, int to, int port)>;

constexpr int kSample = 41233;
constexpr int kMaster = 29500;

// Tries all connections between the hosts: to a sample port of each, and to n1's master port.
std::vector<Trial> try_all(int hosts, const Network& network) {
  std::vector<Trial> trials;
  const auto add = [&](int from, int to, int port) {
    trials.push_back({.from = static_cast<std::size_t>(from - 1),
                      .to = static_cast<std::size_t>(to - 1),
                      .port = port,
                      .how = network(from, to, port)});
  };
  for (int from = 1; from <= hosts; ++from) {
    for (int to = 1; to <= hosts; ++to) {
      if (from != to) add(from, to, kSample);
      if (from != to && to == 1) add(from, to, kMaster);
    }
  }
  return trials;
}

std::vector<Finding> found(const World& world, const std::vector<Trial>& trials) {
  const layout::Layout layout = world.layout();
  return judge({world.job, world.cluster, world.surveys, world.launcher, layout, trials});
}

std::vector<Finding> found(int hosts, const Network& network) {
  return found(good_world(hosts), try_all(hosts, network));
}

// Returns one line per finding, such as "n7: no other host can connect to this one".
std::string told(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.severity, Severity::kError);
    text +=
        hosts::fold(finding.hosts) + ": " + finding.what.substr(0, finding.what.find(',')) + "\n";
  }
  return text;
}

TEST(Blocked, NothingIsSaidWhereAllConnectionsWork) {
  EXPECT_EQ(told(found(4, [](int, int, int) { return Reached::kYes; })), "");
  EXPECT_EQ(told(found(good_world(4), {})), "");
}

TEST(Blocked, NamesBothHostsAndTheDirection) {
  const auto findings = found(16, [](int from, int to, int) {
    return from == 3 && to == 7 ? Reached::kTimedOut : Reached::kYes;
  });
  ASSERT_EQ(told(findings), "n7: n3 cannot connect to n7\n");
  EXPECT_EQ(findings[0].id, "ephemeral-ports-filtered");
  EXPECT_EQ(findings[0].evidence,
            "connections to port 41233 of n7 time out; in the other direction they work");
  EXPECT_TRUE(has(findings[0].fix, "muster exec -H n7 -- 'sudo ufw allow from 198.18.0.0/16'"));
}

TEST(Blocked, InBothDirectionsIsOneFinding) {
  const auto findings = found(16, [](int from, int to, int) {
    return from + to == 10 && from * to == 21 ? Reached::kRefused : Reached::kYes;
  });
  ASSERT_EQ(told(findings), "n[3,7]: n3 and n7 cannot connect to each other\n");
  EXPECT_EQ(findings[0].evidence,
            "connections to port 41233 of n3 are refused, connections to port 41233 of n7 are "
            "refused");
}

TEST(Blocked, AHostThatNobodyReachesIsNamedOnce) {
  const Network closed = [](int, int to, int) {
    return to == 5 || to == 6 ? Reached::kNoRoute : Reached::kYes;
  };
  EXPECT_EQ(told(found(16, closed)), "n[5-6]: no other host can connect to this one\n");
  const Network mute = [](int from, int, int) {
    return from == 5 ? Reached::kTimedOut : Reached::kYes;
  };
  const auto findings = found(16, mute);
  EXPECT_EQ(told(findings), "n5: the host cannot connect to any other\n");
  EXPECT_TRUE(has(findings[0].fix, "ufw allow out to 198.18.0.0/16"));
  const Network away = [](int from, int to, int) {
    return from == 5 || to == 5 ? Reached::kTimedOut : Reached::kYes;
  };
  EXPECT_EQ(told(found(16, away)),
            "n5: the other hosts and this one cannot connect to each other\n");
}

TEST(Blocked, FirewallsEverywhereAreOneFinding) {
  for (const int hosts : {2, 16}) {
    const auto findings = found(hosts, [](int, int, int) { return Reached::kTimedOut; });
    EXPECT_EQ(findings.size(), 1);
    EXPECT_EQ(findings[0].hosts.size(), hosts);
    EXPECT_TRUE(has(findings[0].what, "the hosts cannot connect to each other"));
  }
}

TEST(Blocked, ASplitNetworkIsOneFinding) {
  const auto findings = found(16, [](int from, int to, int) {
    return (from <= 8) != (to <= 8) ? Reached::kTimedOut : Reached::kYes;
  });
  EXPECT_EQ(told(findings), "n[1-16]: n[1-8] and n[9-16] cannot connect to each other\n");
}

// First the usual firewall: the ephemeral port is blocked, and the master port is open. Then the
// opposite.
TEST(Blocked, TellsWhichPortsWork) {
  auto findings = found(3, [](int, int to, int port) {
    return to == 1 && port == kSample ? Reached::kTimedOut : Reached::kYes;
  });
  ASSERT_EQ(told(findings), "n1: no other host can connect to this one\n");
  EXPECT_TRUE(has(findings[0].evidence, "port 41233 of n1 time out, to port 29500 work"));
  findings = found(3, [](int, int to, int port) {
    return to == 1 && port == kMaster ? Reached::kCutOff : Reached::kYes;
  });
  EXPECT_TRUE(has(findings[0].evidence,
                  "port 29500 of n1 are accepted and then cut off, to port 41233 work"));
}

TEST(LargeLost, NamesBothHostsAndTheirMtus) {
  World world = good_world(4);
  world.host(2).interfaces[1].mtu = 9000;
  const auto findings = found(world, try_all(4, [](int from, int to, int) {
                                return from == 2 && to == 4 ? Reached::kLargeLost : Reached::kYes;
                              }));
  ASSERT_EQ(told(findings), "n4: small packets pass from n2 to n4\n");
  EXPECT_EQ(findings[0].id, "mtu-mismatch");
  EXPECT_TRUE(has(findings[0].evidence, "MTU 9000 of eth0 on n2; MTU 1500 of eth0 on n4"));
  EXPECT_TRUE(
      has(findings[0].fix, "muster exec -H n2 -- 'ping -M do -c 1 -W 1 -s 1472 198.18.0.4'"));
}

TEST(LargeLost, AroundOneHostIsOneFinding) {
  const auto findings = found(16, [](int from, int to, int) {
    return from == 5 || to == 5 ? Reached::kLargeLost : Reached::kYes;
  });
  EXPECT_EQ(told(findings), "n5: small packets pass between this host and the others\n");
}

TEST(WayBack, IsNeededByTheDaemonsOfAnMpi) {
  World world = good_world(3);
  const std::vector<Trial> trials = {
      {.from = 1, .to = facts::kLauncher, .port = 40000, .how = Reached::kRefused},
      {.from = 2, .to = facts::kLauncher, .port = 40000, .how = Reached::kYes}};
  auto findings = found(world, trials);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].id, "ompi-oob-no-common-interface");
  EXPECT_EQ(findings[0].hosts, std::vector<std::string>{"n2"});
  EXPECT_TRUE(has(findings[0].what, "the host cannot connect to this machine, but the daemons of"));
  EXPECT_EQ(findings[0].evidence, "connections to 198.18.0.250 are refused");
  world.job.engine = "torchrun";
  EXPECT_FALSE(has(told(found(world, trials)), "this machine"));
  world.job.engine.clear();
  findings = found(world, {{.from = 1, .to = facts::kLauncher, .how = Reached::kLargeLost}});
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].id, "mtu-mismatch");
  EXPECT_TRUE(has(findings[0].what, "cannot send large packets to this machine"));
}

TEST(ReachGroups, HoldEveryFailedPairOnce) {
  HostPairs tried;
  for (std::size_t from = 0; from < 6; ++from) {
    for (std::size_t to = 0; to < 6; ++to) {
      if (from != to) tried.insert({from, to});
    }
  }
  for (unsigned seed = 1; seed < 400; ++seed) {
    HostPairs failed;
    for (const HostPair& pair : tried) {
      if ((seed * 2654435761U >> (pair.first * 5 + pair.second) % 29) % 3 == 0) failed.insert(pair);
    }
    HostPairs grouped;
    for (const ReachGroup& group : group_pairs(tried, failed)) {
      for (const HostPair& pair : group.pairs) {
        EXPECT_TRUE(failed.contains(pair) && grouped.insert(pair).second);
      }
    }
    EXPECT_EQ(grouped, failed);
  }
}

}  // namespace
}  // namespace muster::checks
