#include "bench/suspects.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "bench/rounds.hpp"

namespace muster::bench {
namespace {

constexpr double kUsual = 6e6;  // bytes per second, about 50 Mbit/s

// A simulated cluster: bandwidth and latency of each pair.
struct World {
  int hosts = 8;
  std::function<double(int, int)> bandwidth = [](int, int) { return kUsual; };
  std::function<double(int, int)> latency = [](int, int) { return 50e-6; };
  std::function<double(int, int)> resent = [](int, int) { return 0.0; };

  void measure(int one, int other, bool again, std::vector<Pair>& pairs) const {
    pairs.push_back({.one = name(one),
                     .other = name(other),
                     .forward = bandwidth(one, other),
                     .backward = kUsual,
                     .latency_s = latency(one, other),
                     .resent = resent(one, other),
                     .again = again});
  }
  static std::string name(int host) { return "n" + std::to_string(host + 1); }

  [[nodiscard]] std::vector<Suspect> judged() const {
    std::vector<Pair> pairs;
    for (const Round& round : all_pairs(hosts)) {
      for (const auto& [one, other] : round) measure(one, other, false, pairs);
    }
    const auto found = find_suspects(pairs);
    for (const auto& [one, other] : second_look(found, pairs)) {
      measure(std::stoi(one.substr(1)) - 1, std::stoi(other.substr(1)) - 1, true, pairs);
    }
    return confirm(found, pairs);
  }
};

std::vector<std::vector<std::string>> confirmed(const std::vector<Suspect>& suspects) {
  std::vector<std::vector<std::string>> names;
  for (const Suspect& suspect : suspects) {
    if (suspect.confirmed) names.push_back(suspect.hosts);
  }
  return names;
}

using Named = std::vector<std::vector<std::string>>;

TEST(Suspects, NobodyIsNamedWhereAllAreAlike) {
  EXPECT_TRUE(World{}.judged().empty());
  EXPECT_TRUE(World{.hosts = 2}.judged().empty());
  EXPECT_TRUE(find_suspects({}).empty());
}

TEST(Suspects, AHostThatIsSlowWithEveryoneIsTheHost) {
  for (int hosts = 3; hosts <= 12; ++hosts) {
    const World world{.hosts = hosts, .bandwidth = [](int one, int other) {
                        return one == 1 || other == 1 ? kUsual / 10 : kUsual;
                      }};
    EXPECT_EQ(confirmed(world.judged()), (Named{{"n2"}})) << hosts;
  }
}

TEST(Suspects, OneSlowPairIsTheLink) {
  for (int hosts = 4; hosts <= 12; ++hosts) {
    const World world{.hosts = hosts, .bandwidth = [](int one, int other) {
                        return one == 0 && other == 2 ? kUsual / 5 : kUsual;
                      }};
    const auto suspects = world.judged();
    EXPECT_EQ(confirmed(suspects), (Named{{"n1", "n3"}})) << hosts;
    ASSERT_FALSE(suspects.empty());
    EXPECT_NE(suspects[0].what.find("9.60 Mbit/s"), std::string::npos) << suspects[0].what;
  }
}

TEST(Suspects, ASlowHostAndASlowLinkAreBothNamed) {
  const World world{.bandwidth = [](int one, int other) {
    if (one == 4 || other == 4) return kUsual / 10;
    return one == 1 && other == 6 ? kUsual / 4 : kUsual;
  }};
  EXPECT_EQ(confirmed(world.judged()), (Named{{"n5"}, {"n2", "n7"}}));
}

TEST(Suspects, ASlowHostIsConfirmedWhereEveryOtherHasALateLink) {
  const std::set<std::set<int>> late = {{1, 7}, {2, 6}, {3, 5}, {3, 4}};
  const World world{
      .bandwidth = [](int one, int other) { return one == 0 || other == 0 ? kUsual / 10 : kUsual; },
      .latency = [&](int one, int other) { return late.contains({one, other}) ? 2e-3 : 20e-6; }};
  const auto suspects = world.judged();
  const auto named = confirmed(suspects);
  EXPECT_NE(std::find(named.begin(), named.end(), std::vector<std::string>{"n1"}), named.end());
  EXPECT_EQ(named.size(), 1 + late.size()) << "the late links, which are late again";
}

TEST(Suspects, ASlowUplinkIsBlamedOnNoHost) {
  const World world{.bandwidth = [](int one, int other) {
    return (one < 4) != (other < 4) ? kUsual / 10 : kUsual;
  }};
  const auto suspects = world.judged();
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_TRUE(suspects[0].confirmed) << suspects[0].what;
  EXPECT_EQ(suspects[0].hosts.size(), 2U);
  EXPECT_NE(suspects[0].what.find("n[1-4] and n[5-8]"), std::string::npos) << suspects[0].what;
}

TEST(Suspects, AHostThatGotThroughOnceIsStillTheHost) {
  const World world{.bandwidth = [](int one, int other) {
    const bool lucky = (one == 0 && other == 4) || (one == 1 && other == 4);
    return (one == 4 || other == 4) && !lucky ? kUsual / 5 : kUsual;
  }};
  const auto suspects = world.judged();
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].hosts, std::vector<std::string>{"n5"});
  EXPECT_NE(suspects[0].what.find("slow with most hosts: it reaches 9.60 Mbit/s"),
            std::string::npos)
      << suspects[0].what;
}

TEST(Suspects, WhoIsSlowAmongManyIsNotExcusedByBeingAloneLater) {
  // While all pairs run at the same time, they share a switch that gives each a third of its rate.
  // A pair that is measured alone gets its full rate.
  bool together = true;
  const World world{.bandwidth = [&](int one, int other) {
    const double share = together ? 1.0 / 3 : 1.0;
    return share * (one == 2 || other == 2 ? kUsual / 2 : kUsual);
  }};
  std::vector<Pair> pairs;
  for (const Round& round : all_pairs(8)) {
    for (const auto& [one, other] : round) world.measure(one, other, false, pairs);
  }
  for (Pair& pair : pairs) pair.backward = pair.forward;
  together = false;
  const auto found = find_suspects(pairs);
  for (const auto& [one, other] : second_look(found, pairs)) {
    world.measure(std::stoi(one.substr(1)) - 1, std::stoi(other.substr(1)) - 1, true, pairs);
  }
  EXPECT_EQ(confirmed(confirm(found, pairs)), (Named{{"n3"}}));
}

TEST(Suspects, NoiseNamesNobody) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const World world{
        .bandwidth =
            [&](int, int) { return std::uniform_real_distribution(0.75, 1.0)(random) * kUsual; },
        .latency = [&](int, int) { return std::uniform_real_distribution(50e-6, 3e-3)(random); }};
    EXPECT_TRUE(confirmed(world.judged()).empty()) << trial;
  }
}

TEST(Suspects, WhatWasSlowOnceIsNotConfirmed) {
  int calls = 0;
  const World world{.bandwidth = [&](int one, int other) {
    return one == 0 && other == 1 && calls++ == 0 ? kUsual / 10 : kUsual;
  }};
  const auto suspects = world.judged();
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_FALSE(suspects[0].confirmed);
  EXPECT_NE(suspects[0].what.find("not slow this time"), std::string::npos);
}

TEST(Suspects, ALateHostIsNamedForItsLatency) {
  const World world{
      .latency = [](int one, int other) { return one == 3 || other == 3 ? 2e-3 : 50e-6; }};
  const auto suspects = world.judged();
  EXPECT_EQ(confirmed(suspects), (Named{{"n4"}}));
  ASSERT_FALSE(suspects.empty());
  EXPECT_EQ(suspects[0].aspect, Aspect::kLatency);
}

TEST(Suspects, ALinkThatLosesFramesIsNamedForThat) {
  // A few frames are lost everywhere, because queues are finite.
  const World world{
      .resent = [](int one, int other) { return one == 2 && other == 5 ? 0.05 : 0.001; }};
  const auto suspects = world.judged();
  EXPECT_EQ(confirmed(suspects), (Named{{"n3", "n6"}}));
  ASSERT_FALSE(suspects.empty());
  EXPECT_EQ(suspects[0].aspect, Aspect::kLoss);
  EXPECT_NE(suspects[0].what.find("loses frames: 5.0 % had to be sent again"), std::string::npos)
      << suspects[0].what;
}

TEST(Suspects, WhatIsSlowBecauseItLosesIsSaidOnce) {
  const World world{
      .bandwidth = [](int one, int other) { return one == 2 && other == 5 ? kUsual / 9 : kUsual; },
      .resent = [](int one, int other) { return one == 2 && other == 5 ? 0.2 : 0.0; }};
  const auto suspects = world.judged();
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_TRUE(suspects[0].confirmed);
  EXPECT_NE(suspects[0].what.find("loses frames"), std::string::npos) << suspects[0].what;
}

TEST(Suspects, ALinkOfADeadStopIsNamedWithoutADivisionByNothing) {
  const World world{
      .bandwidth = [](int one, int other) { return one == 0 && other == 1 ? 0.0 : kUsual; }};
  EXPECT_EQ(confirmed(world.judged()), (Named{{"n1", "n2"}}));
}

}  // namespace
}  // namespace muster::bench
