// Checkpoints of one process: what is kept, what is rejected, and what a crash at any moment
// leaves.
#include <sys/wait.h>

#include "checkpoint_training.hpp"
#include "crash_calls.hpp"

namespace muster::test {
namespace {

// Returns the state after each step of an uninterrupted training, from step 0 on.
std::vector<std::string> expected(int steps) {
  const Training training;
  torch::manual_seed(7);
  std::vector<std::string> all{training.bytes()};
  for (int i = 0; i < steps; ++i) {
    training.step();
    all.push_back(training.bytes());
  }
  return all;
}

TEST_F(CheckpointTest, GoesOnWithTheSameBits) {
  const auto all = expected(6);
  for (int from = 1; from < 6; ++from) {
    fs::remove_all(folder);
    {
      Checkpoints checkpoints(join(), group(), options());
      const Training training;
      training.track(checkpoints);
      EXPECT_FALSE(checkpoints.resume());
      torch::manual_seed(7);
      for (int i = 0; i < from; ++i) training.step();
      checkpoints.save({.step = from, .values = {{"where", "here"}}});
      EXPECT_TRUE(checkpoints.finish());
      training.step();
    }
    Checkpoints checkpoints(join(), group(), options());
    const Training training(3);
    training.track(checkpoints);
    torch::manual_seed(99);
    const auto found = checkpoints.resume();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->step, from);
    EXPECT_EQ(found->values, (CheckpointValues{{"where", "here"}}));
    EXPECT_EQ(training.bytes(), all[static_cast<size_t>(from)]);
    for (int i = from; i < 6; ++i) training.step();
    EXPECT_EQ(training.bytes(), all[6]);
  }
  EXPECT_EQ(warnings, "");
}

template <class Optimizer>
void expect_state_is_kept(const std::string& folder,
                          const std::function<Optimizer(torch::nn::Linear&)>& make) {
  torch::Tensor wanted;
  for (const bool again : {false, true}) {
    torch::manual_seed(3);
    torch::nn::Linear model(4, 4);
    Optimizer optimizer = make(model);
    Checkpoints checkpoints(join(), group(), {.folder = folder});
    checkpoints.track("model", model.ptr());
    checkpoints.track("optimizer", optimizer, model.ptr());
    const auto step = [&] {
      optimizer.zero_grad();
      model->forward(torch::rand({2, 4})).square().sum().backward();
      optimizer.step();
    };
    if (again) {
      ASSERT_TRUE(checkpoints.resume());
    } else {
      for (int i = 0; i < 3; ++i) step();
      checkpoints.save({.step = 3});
    }
    for (int i = 0; i < 3; ++i) step();
    if (again) {
      EXPECT_TRUE(torch::equal(model->weight, wanted));
    } else {
      wanted = model->weight.detach().clone();
    }
  }
}

TEST_F(CheckpointTest, KeepsTheStateOfEveryOptimizer) {
  using namespace torch::optim;  // NOLINT
  expect_state_is_kept<SGD>(folder + "/sgd", [](torch::nn::Linear& m) {
    return SGD(m->parameters(), SGDOptions(0.1).momentum(0.9));
  });
  expect_state_is_kept<SGD>(folder + "/plain", [](torch::nn::Linear& m) {
    return SGD(m->parameters(), SGDOptions(0.1));
  });
  expect_state_is_kept<Adam>(folder + "/adam", [](torch::nn::Linear& m) {
    return Adam(m->parameters(), AdamOptions(0.1).amsgrad(true));
  });
  expect_state_is_kept<AdamW>(folder + "/adamw", [](torch::nn::Linear& m) {
    return AdamW(m->parameters(), AdamWOptions(0.1));
  });
  expect_state_is_kept<Adagrad>(folder + "/adagrad", [](torch::nn::Linear& m) {
    return Adagrad(m->parameters(), AdagradOptions(0.1));
  });
  expect_state_is_kept<RMSprop>(folder + "/rmsprop", [](torch::nn::Linear& m) {
    return RMSprop(m->parameters(), RMSpropOptions(0.1).momentum(0.5).centered(true));
  });
}

TEST_F(CheckpointTest, AsynchronousSaveHoldsTheStateOfItsMoment) {
  const auto all = expected(2);
  {
    Checkpoints checkpoints(join(), group(), options(true));
    const Training training;
    training.track(checkpoints);
    torch::manual_seed(7);
    training.step();
    checkpoints.save({.step = 1});
    for (int i = 0; i < 20; ++i) training.step();
  }
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  ASSERT_TRUE(checkpoints.resume());
  EXPECT_EQ(training.bytes(), all[1]);
}

TEST_F(CheckpointTest, KeepsTheNewest) {
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  for (const int step : {1, 2, 3, 10}) checkpoints.save({.step = step});
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  EXPECT_EQ(names,
            (std::set<std::string>{"in-use.json", "step-000000000003", "step-000000000010"}));
}

TEST_F(CheckpointTest, SetAsideAreOutOfTheWay) {
  {
    Checkpoints checkpoints(join(), group(), options());
    const Training training;
    training.track(checkpoints);
    EXPECT_EQ(checkpoints.set_aside(), "");
    EXPECT_FALSE(checkpoints.newest());
    for (const int step : {1, 2}) checkpoints.save({.step = step});
  }
  Checkpoints checkpoints(join(), group(), options());
  const Training another(4);
  another.track(checkpoints);
  const auto found = checkpoints.newest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 2);
  EXPECT_EQ(found->found_on + found->missing_on, "");
  EXPECT_TRUE(checkpoints.set_aside().ends_with(": " + folder + "/set-aside-1"));
  EXPECT_TRUE(fs::exists(folder + "/set-aside-1/step-000000000001/manifest.json"));
  EXPECT_TRUE(fs::exists(folder + "/set-aside-1/step-000000000002/manifest.json"));
  EXPECT_FALSE(checkpoints.newest());
  EXPECT_FALSE(checkpoints.resume());
  checkpoints.save({.step = 1});
  EXPECT_TRUE(checkpoints.finish());
  EXPECT_EQ(warnings, "");
}

TEST_F(CheckpointTest, EveryFlippedBitIsFound) {
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  training.step();
  checkpoints.save({.step = 1});
  long flips = 0;
  for (const fs::path& path : files_below(folder + "/step-000000000001")) {
    std::string bytes = read_file(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](size_t at, char byte) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte);
      file.flush();
    };
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        put(at, static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit)));
        ++flips;
        try {
          (void)checkpoints.resume();
          FAIL() << path << ": byte " << at << ", bit " << bit << " was flipped and not noticed";
        } catch (const std::runtime_error& error) {
          const std::string text = error.what();
          ASSERT_NE(text.find("step 1 cannot be used"), std::string::npos) << text;
        }
      }
      put(at, bytes[at]);
    }
  }
  EXPECT_TRUE(checkpoints.resume());
  EXPECT_GT(flips, 40'000);
}

TEST_F(CheckpointTest, EveryShorterOrLongerFileIsFound) {
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  checkpoints.save({.step = 1});
  for (const fs::path& path : files_below(folder + "/step-000000000001")) {
    const std::string bytes = read_file(path);
    for (size_t size = 0; size <= bytes.size() + 1;
         size += size < 2000 || size + 100 > bytes.size() ? 1 : 41) {
      if (size == bytes.size()) continue;
      write_file(path, size < bytes.size() ? bytes.substr(0, size) : bytes + "x");
      EXPECT_THROW((void)checkpoints.resume(), std::runtime_error) << path << " of " << size;
    }
    fs::remove(path);
    EXPECT_THROW((void)checkpoints.resume(), std::runtime_error) << path << " is gone";
    write_file(path, bytes);
  }
  EXPECT_TRUE(checkpoints.resume());
}

TEST_F(CheckpointTest, TheNewestGoodOneIsUsedAndTheDamagedNamed) {
  const auto all = expected(2);
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  torch::manual_seed(7);
  for (int step = 1; step <= 2; ++step) {
    training.step();
    checkpoints.save({.step = step});
  }
  const fs::path shard = folder + "/step-000000000002/shard-00000-of-00001.safetensors";
  std::string bytes = read_file(shard);
  const std::string weight(static_cast<const char*>(training.model->parameters()[0].data_ptr()),
                           24);
  const size_t at = bytes.find(weight);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] ^= 1;
  write_file(shard, bytes);
  const auto found = checkpoints.resume();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 1);
  EXPECT_EQ(training.bytes(), all[1]);
  EXPECT_NE(
      warnings.find("step 2 cannot be used: " + shard.string() + ": model/0.weight is damaged"),
      std::string::npos)
      << warnings;
  // The training reaches the step again and replaces the damaged checkpoint.
  training.step();
  checkpoints.save({.step = 2});
  EXPECT_EQ(checkpoints.resume()->step, 2);
  EXPECT_EQ(training.bytes(), all[2]);
}

// Rejected checkpoints do not count towards those to keep, and what was saved last stays.
TEST_F(CheckpointTest, ASaveBelowDamagedStepsStays) {
  CheckpointOptions one = options();
  one.keep = 1;
  Checkpoints checkpoints(join(), group(), one);
  const Training training;
  training.track(checkpoints);
  for (const int step : {10, 12, 14}) {
    checkpoints.save({.step = step});
  }
  write_file(folder + "/step-000000000014/manifest.json", "{}");
  checkpoints.save({.step = 11});
  EXPECT_TRUE(checkpoints.finish());
  EXPECT_EQ(checkpoints.resume()->step, 11);
  checkpoints.save({.step = 14});
  EXPECT_EQ(checkpoints.resume()->step, 14);
}

// Resumes, trains one step and saves the result as step 1, in place of an earlier step 1. Returns
// the state.
std::string save_step_1(const CheckpointOptions& options, int seed, bool& kept) {
  Checkpoints checkpoints(join(), group(), options);
  const Training training;
  training.track(checkpoints);
  (void)checkpoints.resume();
  torch::manual_seed(seed);
  training.step();
  checkpoints.save({.step = 1});
  kept = checkpoints.finish();
  return training.bytes();
}

TEST_F(CheckpointTest, TheLaterSaveOfAStepCounts) {
  bool kept = false;
  const std::string first = save_step_1(options(), 7, kept);
  ASSERT_TRUE(kept);
  const std::string second = save_step_1(options(), 8, kept);
  ASSERT_TRUE(kept);
  ASSERT_NE(first, second);
  Checkpoints checkpoints(join(), group(), options());
  const Training training;
  training.track(checkpoints);
  EXPECT_EQ(checkpoints.resume()->step, 1);
  EXPECT_EQ(training.bytes(), second);
  EXPECT_EQ(warnings, "");
}

std::string refusal(Checkpoints& checkpoints) {
  try {
    (void)checkpoints.resume();
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_F(CheckpointTest, AnotherModelIsRefusedByName) {
  {
    Checkpoints checkpoints(join(), group(), options());
    const Training training;
    training.track(checkpoints);
    training.step();
    checkpoints.save({.step = 5});
  }
  Checkpoints wider(join(), group(), options());
  const Training training(4);
  training.track(wider);
  const std::string before = training.bytes();
  const std::string text = refusal(wider);
  EXPECT_NE(text.find("step 5"), std::string::npos) << text;
  EXPECT_NE(text.find("model/0.weight is Float [3, 2] in it and Float [4, 2] in the model"),
            std::string::npos)
      << text;
  EXPECT_EQ(training.bytes(), before);

  Checkpoints fewer(join(), group(), options());
  const Training same;
  fewer.track("model", same.model);
  EXPECT_NE(refusal(fewer).find(
                "it has optimizer/0.bias/momentum_buffer, which this program does not have"),
            std::string::npos);

  Checkpoints other(join(), group(), options());
  torch::optim::Adam adam(same.model->parameters(), 0.1);
  other.track("model", same.model);
  other.track("optimizer", adam, same.model);
  EXPECT_NE(refusal(other).find("which this program does not have"), std::string::npos);
}

constexpr int kSteps = 3;  // one more than CheckpointOptions::keep

// Runs in a separate process. Trains kSteps steps and saves each. Writes the number of each kept
// step to `told` as a byte, and at the end the number of calls.
[[noreturn]] void train_and_save(const std::string& folder, int told, Mishap mishap, long at) {
  const auto job = join();
  CheckpointOptions options{.folder = folder, .warn = [](const std::string&) {}};
  arm(folder, mishap, at);
  try {
    Checkpoints checkpoints(job, group(), options);
    const Training training;
    training.track(checkpoints);
    const auto found = checkpoints.resume();
    if (!found) torch::manual_seed(7);
    for (int64_t step = found ? found->step + 1 : 1; step <= kSteps; ++step) {
      training.step();
      checkpoints.save({.step = step});
      if (!checkpoints.finish()) continue;
      const char byte = static_cast<char>(step);
      if (::syscall(SYS_write, told, &byte, 1) != 1) ::_exit(3);
    }
  } catch (const std::exception&) {
    ::_exit(2);
  }
  const long count = calls();
  ::_exit(::syscall(SYS_write, told, &count, sizeof count) == sizeof count ? 0 : 3);
}

// Does the same for a step 1 that replaces an earlier one.
[[noreturn]] void replace_step(const std::string& folder, int told, Mishap mishap, long at) {
  arm(folder, mishap, at);
  bool kept = false;
  try {
    (void)save_step_1({.folder = folder, .warn = [](const std::string&) {}}, 8, kept);
  } catch (const std::exception&) {
    ::_exit(2);
  }
  const char byte = 1;
  if (kept && ::syscall(SYS_write, told, &byte, 1) != 1) ::_exit(3);
  const long count = calls();
  ::_exit(::syscall(SYS_write, told, &count, sizeof count) == sizeof count ? 0 : 3);
}

using Work = void (*)(const std::string& folder, int told, Mishap mishap, long at);

struct Outcome {
  int last_kept = 0;  // the last step that was reported as kept; 0 if none was
  long calls = 0;     // number of calls of a process that succeeded
  int status = 0;
};

Outcome run_apart(const std::string& folder, Mishap mishap, long at, Work work = train_and_save) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) work(folder, pipe[1], mishap, at);
  ::close(pipe[1]);
  std::string told;
  char byte = 0;
  while (::read(pipe[0], &byte, 1) == 1) told += byte;
  ::close(pipe[0]);
  Outcome outcome;
  ::waitpid(child, &outcome.status, 0);
  const bool whole = WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0;
  if (whole) {
    std::memcpy(&outcome.calls, told.data() + told.size() - sizeof(long), sizeof(long));
    told.resize(told.size() - sizeof(long));
  }
  if (!told.empty()) outcome.last_kept = told.back();
  return outcome;
}

class CrashTest : public CheckpointTest, public testing::WithParamInterface<Mishap> {};

TEST_P(CrashTest, NothingThatWasKeptIsLostAtAnyCall) {
  const auto all = expected(kSteps);
  (void)group();
  const Outcome whole = run_apart(folder, Mishap::none, 0);
  ASSERT_EQ(whole.last_kept, kSteps);
  ASSERT_GT(whole.calls, 100);
  const bool dies =
      GetParam() == Mishap::kill || GetParam() == Mishap::power || GetParam() == Mishap::torn;
  for (long at = 1; at <= whole.calls; ++at) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    const Outcome outcome = run_apart(folder, GetParam(), at);
    if (dies) {
      ASSERT_TRUE(WIFSIGNALED(outcome.status)) << "call " << at << " was not reached";
    }
    warnings.clear();
    Checkpoints checkpoints(join(), group(), options());
    const Training training;
    training.track(checkpoints);
    const auto found = checkpoints.resume();
    const int64_t step = found ? found->step : 0;
    ASSERT_GE(step, outcome.last_kept) << "call " << at;
    ASSERT_EQ(training.bytes(), all[static_cast<size_t>(step)]) << "call " << at;
    // The training must continue from there to its end, and leave no unfinished files.
    if (!found) torch::manual_seed(7);
    for (int64_t next = step + 1; next <= kSteps; ++next) {
      training.step();
      checkpoints.save({.step = next});
    }
    ASSERT_TRUE(checkpoints.finish());
    ASSERT_EQ(training.bytes(), all[kSteps]) << "call " << at;
    ASSERT_EQ(warnings, "") << "call " << at;
    for (const auto& entry : fs::directory_iterator(folder)) {
      ASSERT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
    }
  }
  std::printf("%ld calls\n", whole.calls);
}

TEST_P(CrashTest, AStepThatIsReplacedIsThereAfterAnyCall) {
  bool kept = false;
  const std::string old = save_step_1(options(), 7, kept);
  const Outcome whole = run_apart(folder, Mishap::none, 0, replace_step);
  ASSERT_EQ(whole.last_kept, 1);
  for (long at = 1; at <= whole.calls; ++at) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    (void)save_step_1(options(), 7, kept);
    const Outcome outcome = run_apart(folder, GetParam(), at, replace_step);
    warnings.clear();
    Checkpoints checkpoints(join(), group(), options());
    const Training training;
    training.track(checkpoints);
    const auto found = checkpoints.resume();
    ASSERT_TRUE(found) << "call " << at;
    ASSERT_EQ(found->step, 1) << "call " << at;
    if (outcome.last_kept == 1) {
      ASSERT_NE(training.bytes(), old) << "call " << at;
    }
    ASSERT_EQ(warnings, "") << "call " << at;
    for (const auto& entry : fs::directory_iterator(folder)) {
      ASSERT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
    }
  }
  std::printf("%ld calls\n", whole.calls);
}

std::string mishap_name(const testing::TestParamInfo<Mishap>& param) {
  constexpr std::array kNames = {"none", "kill", "torn", "power", "full_disk", "bad_sector"};
  return kNames[static_cast<size_t>(param.param)];
}

INSTANTIATE_TEST_SUITE_P(Calls, CrashTest,
                         testing::Values(Mishap::kill, Mishap::torn, Mishap::power,
                                         Mishap::full_disk, Mishap::bad_sector),
                         mishap_name);

}  // namespace
}  // namespace muster::test
