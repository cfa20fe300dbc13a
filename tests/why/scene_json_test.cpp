#include <gtest/gtest.h>

#include "scenes.hpp"

namespace muster::why {
namespace {

TEST(SceneJson, KeepsThatARankTimedOut) {
  SceneBuilder scene(2);
  scene.state(1) = {.rank = 1, .host = "n2", .life = RankState::Life::kEnded, .timed_out = true};
  const std::string json = to_json(scene);
  const auto again = parse_scene(json);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->ranks[1].timed_out);
  EXPECT_EQ(judge(*again).headline, judge(scene).headline);
  // Evidence stored by an older muster lacks this field.
  std::string older = json;
  const std::string field = ",\"timed_out\":true";
  ASSERT_NE(older.find(field), std::string::npos) << json;
  older.erase(older.find(field), field.size());
  const auto old = parse_scene(older);
  ASSERT_TRUE(old.has_value());
  EXPECT_FALSE(old->ranks[1].timed_out);
}

}  // namespace
}  // namespace muster::why
