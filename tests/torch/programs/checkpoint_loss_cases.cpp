// Ways to lose checkpoints: two jobs with one directory, another training's steps, damage that is
// noticed late, and saves that keep failing.
#include "checkpoint_training.hpp"

namespace muster::test {
namespace {

TEST_F(CheckpointTest, ADeeplyNestedManifestIsRefusedAndTheStepBeforeIsUsed) {
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  for (const int step : {1, 2}) checkpoints.save({.step = step});
  constexpr size_t kDepth = 2'000'000;
  write_file(folder + "/step-000000000002/manifest.json",
             R"({"checksum":)" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}");
  const auto found = checkpoints.resume();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 1);
  EXPECT_NE(warnings.find("step 2 cannot be used: "), std::string::npos) << warnings;
}

}  // namespace
}  // namespace muster::test
