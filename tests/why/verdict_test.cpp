#include "why/verdict.hpp"

#include <gtest/gtest.h>

#include "scenes.hpp"

namespace muster::why {
namespace {

SceneBuilder late() {
  SceneBuilder scene(4);
  scene.others_in(3, "all_reduce", 12, 94).did(3, "all_reduce", 11);
  return scene;
}

TEST(Judge, IsFitForLargeJobs) {
  SceneBuilder scene(512, 8);
  scene.others_in(77, "all_reduce", 1842, 94).did(77, "all_reduce", 1841).doing(77, "S", "sleep");
  const Verdict verdict = judge(scene);
  EXPECT_EQ(verdict.ranks, std::vector<int>{77});
  EXPECT_EQ(verdict.headline,
            "rank 77 (n10) never entered all_reduce #1842; 511 ranks have waited in it for 94 s");
  EXPECT_LT(evidence_text(scene).size(), 4000U);
}

TEST(Judge, StaysReadableForThousandsOfRanks) {
  SceneBuilder scene(2000, 8);
  scene.others_in(77, "all_reduce", 12, 94).did(77, "all_reduce", 11);
  for (int rank = 0; rank < 2000; ++rank) {
    scene.python(rank, {"train.py:" + std::to_string(rank + 1) + " main"});
  }
  const Verdict verdict = judge(scene);
  EXPECT_EQ(verdict.ranks, std::vector<int>{77});
  const std::string text = evidence_text(scene);
  EXPECT_LT(text.size(), 8000U);
  EXPECT_NE(text.find("more in the evidence file"), std::string::npos);
}

TEST(Judge, SurvivesHostileValues) {
  SceneBuilder scene(3);
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
  EXPECT_EQ(evidence_text(scene).find('\x1b'), std::string::npos);
  EXPECT_FALSE(judge_slow(scene).headline.empty());
  EXPECT_FALSE(to_json(scene).empty());
}

TEST(SceneJson, ReturnsWhatWasWritten) {
  SceneBuilder scene = late().doing(3, "S", "sleep").python(3, {"train.py:57 load"});
  scene.scene().kernel_logs["n1"] = {"Out of memory"};
  const auto again = parse_scene(to_json(scene));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again), to_json(scene));
  EXPECT_EQ(judge(*again).headline, judge(scene).headline);
  EXPECT_FALSE(parse_scene("[1]").has_value());
  EXPECT_NE(to_json(judge(scene)).find("\"kind\":\"not-entered\""), std::string::npos);
}

TEST(EvidenceText, PutsOutliersFirst) {
  SceneBuilder scene = late().doing(3, "S", "sleep").python(3, {"train.py:57 load"});
  for (const int rank : {0, 1, 2}) scene.python(rank, {kC10d + "all_reduce", "train.py:90 main"});
  scene.rank(0).not_seen = scene.rank(1).not_seen = {"no native stack: ptrace is not permitted"};
  const std::string text = evidence_text(scene);
  EXPECT_LT(text.find("rank 3 (n4):\n    Python"), text.find("ranks 0-2 (n1, n2, n3):\n    Python"))
      << text;
  EXPECT_NE(text.find("ranks 0-1 (n1, n2): no native stack"), std::string::npos) << text;
}

TEST(VerdictText, CallsTheFirstGroupOfLibmusterTheDefaultGroup) {
  const SceneBuilder pytorchs = late().doing(3, "S", "sleep");
  Scene libmusters = pytorchs;
  for (auto& [name, host] : libmusters.hosts) {
    for (inspect::RankView& view : host.ranks) {
      for (inspect::Group& group : view.groups) {
        group.name = "muster/0";
        group.description.clear();
      }
    }
  }
  EXPECT_EQ(judge(libmusters).headline, judge(pytorchs).headline);
  EXPECT_EQ(evidence_text(libmusters), evidence_text(pytorchs));
  EXPECT_NE(evidence_text(libmusters).find("Collectives of the default group:"), std::string::npos);
}

TEST(VerdictText, WrapsAndEndsLines) {
  const std::string text = verdict_text(judge(late().doing(3, "S", "sleep")));
  EXPECT_TRUE(text.ends_with("\n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 80U);
    at = end + 1;
  }
}

}  // namespace
}  // namespace muster::why
