// A host that disappears at every point of the protocol: the run ends within bounded time with the
// right code, and the verdict names the host.
#include <gtest/gtest.h>

#include "scene.hpp"

namespace muster::run {
namespace {

struct Case {
  const char* name;
  Point point;
  Gone how;
  int code;       // exit code of the run; -1: the survey fails, and no run starts
  double most_s;  // seconds on the fake clock until the end
};

constexpr double kSurvey = 16;  // the survey gives up after 15 s
constexpr double kLost = 25;  // muster gives up a host after 15 s; the other ranks need 5 s to end
constexpr double kWell = 12;  // the ranks of this scene live for 5 s

class Vanishing : public testing::TestWithParam<std::tuple<int, Case>> {};

TEST_P(Vanishing, EndsTheRunAndNamesTheHost) {
  const auto& [count, one] = GetParam();
  Scene scene(count);
  FakeHost& victim = scene.hosts[static_cast<std::size_t>(count) - 1];
  victim.behaviour.gone_at = one.point;
  victim.behaviour.gone = one.how;
  const SceneEnd end = scene.play();
  EXPECT_FALSE(end.waited_for_ever);
  EXPECT_LE(end.took_s, one.most_s);
  if (one.code < 0) {
    EXPECT_FALSE(end.started);
    ASSERT_FALSE(end.surveys.back().facts);
    EXPECT_EQ(end.surveys.back().facts.error().where.host, victim.name());
    return;
  }
  EXPECT_TRUE(end.started);
  EXPECT_EQ(end.verdict.code, one.code) << end.verdict.text;
  const bool is_named = end.verdict.text.find(victim.name()) != std::string::npos;
  EXPECT_EQ(is_named, one.most_s != kWell) << end.verdict.text;
  for (std::size_t i = 0; i + 1 < scene.hosts.size(); ++i) {
    // muster says goodbye to the other hosts, and their ranks have ended.
    EXPECT_TRUE(scene.hosts[i].said_bye());
    EXPECT_FALSE(scene.hosts[i].running());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, Vanishing,
    testing::Combine(testing::Values(1, 3),
                     testing::Values(Case{"hello", Point::kHello, Gone::kSilent, -1, kSurvey},
                                     Case{"beat", Point::kBeat, Gone::kSilent, -1, kSurvey},
                                     Case{"facts", Point::kFacts, Gone::kSilent, 125, kLost},
                                     Case{"place", Point::kPlace, Gone::kSilent, 125, kLost},
                                     Case{"begin", Point::kBegin, Gone::kSilent, 125, kLost},
                                     Case{"ready", Point::kReady, Gone::kSilent, 125, kLost},
                                     Case{"start", Point::kStart, Gone::kSilent, 125, kLost},
                                     Case{"output", Point::kOutput, Gone::kSilent, 125, kLost},
                                     Case{"ranks", Point::kRanks, Gone::kSilent, 0, kLost},
                                     Case{"end", Point::kEnd, Gone::kSilent, 0, kLost},
                                     Case{"done", Point::kDone, Gone::kSilent, 0, kWell},
                                     Case{"bye", Point::kBye, Gone::kSilent, 0, kWell},
                                     Case{"hello_cut", Point::kHello, Gone::kCut, -1, 1},
                                     Case{"beat_cut", Point::kBeat, Gone::kCut, -1, 1},
                                     Case{"facts_cut", Point::kFacts, Gone::kCut, 125, kLost},
                                     Case{"place_cut", Point::kPlace, Gone::kCut, 125, kLost},
                                     Case{"begin_cut", Point::kBegin, Gone::kCut, 125, kLost},
                                     Case{"ready_cut", Point::kReady, Gone::kCut, 125, kLost},
                                     Case{"start_cut", Point::kStart, Gone::kCut, 125, kLost},
                                     Case{"output_cut", Point::kOutput, Gone::kCut, 125, kLost},
                                     Case{"ranks_cut", Point::kRanks, Gone::kCut, 0, kLost},
                                     Case{"end_cut", Point::kEnd, Gone::kCut, 0, kLost},
                                     Case{"done_cut", Point::kDone, Gone::kCut, 0, kWell},
                                     Case{"bye_cut", Point::kBye, Gone::kCut, 0, kWell})),
    [](const auto& given) {
      return std::string(std::get<1>(given.param).name) + "_of_" +
             std::to_string(std::get<0>(given.param));
    });

}  // namespace
}  // namespace muster::run
