// Ways to lose checkpoints: two jobs with one directory, another training's steps, damage that is
// noticed late, and saves that keep failing.
#include "checkpoint_training.hpp"

namespace muster::test {
namespace {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
    return "nothing was thrown";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_F(CheckpointTest, SavingOverAnotherTrainingThrows) {
  const auto train_anew = [&](const char* name, bool resumes, int64_t step) {
    Checkpoints checkpoints(join(), group(), options());
    const Training training;
    training.track(checkpoints);
    if (resumes) (void)checkpoints.resume();
    training.step();
    checkpoints.save({.step = step, .values = {{"name", name}}});
    EXPECT_TRUE(checkpoints.finish());
  };
  train_anew("first", false, 3);
  for (const int64_t step : {1, 3, 4}) {
    const std::string text = error_of([&] { train_anew("second", false, step); });
    EXPECT_NE(text.find(folder + ": holds step 3 of another training"), std::string::npos) << text;
  }
  train_anew("first", true, 4);
  train_anew("first", true, 4);
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  const auto found = checkpoints.resume();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 4);
  EXPECT_EQ(found->values.at("name"), "first");
  EXPECT_EQ(warnings, "");
}

void damage(const std::string& folder, const std::string& step) {
  const fs::path shard = folder + "/step-" + step + "/shard-00000-of-00001.safetensors";
  write_file(shard, read_file(shard) + "x");
}

TEST_F(CheckpointTest, ADamagedCheckpointIsNotCountedAmongThoseThatAreKept) {
  for (const bool restarted : {false, true}) {
    fs::remove_all(folder);
    std::optional<Checkpoints> checkpoints;
    const Training training;
    const auto start = [&] {
      checkpoints.reset();
      checkpoints.emplace(join(), group(), options());
      training.track(*checkpoints);
      (void)checkpoints->resume();
    };
    start();
    for (const int step : {1, 2}) checkpoints->save({.step = step});
    damage(folder, "000000000002");
    if (restarted) start();
    checkpoints->save({.step = 3});
    damage(folder, "000000000003");
    ASSERT_EQ(checkpoints->resume()->step, 1) << "the last good one was removed";
    // With two good ones, the others go.
    for (const int step : {4, 5}) checkpoints->save({.step = step});
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2);
  }
}

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

TEST_F(CheckpointTest, SavesThatKeepFailingThrow) {
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  int64_t step = 0;
  const auto save_without_room = [&](int times) {
    arm(folder, Mishap::full_disk, 1);
    for (int i = 0; i < times; ++i) checkpoints.save({.step = ++step});
    disarm();
  };
  save_without_room(4);
  checkpoints.save({.step = ++step});
  EXPECT_TRUE(checkpoints.finish());
  save_without_room(4);
  EXPECT_NE(warnings, "");
  const std::string text = error_of([&] { save_without_room(1); });
  EXPECT_NE(text.find("5 saves in a row failed"), std::string::npos) << text;
  EXPECT_NE(text.find("No space left on device"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::test
