// Ways to lose checkpoints: two jobs with one directory, checkpoints of another training, damage
// that is noticed late, and saves that keep failing.
#include <array>
#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint_training.hpp"

namespace muster::test {
namespace {

const std::string kRun = "20261117-120000-000aa";

std::string own_host() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
    return "nothing was thrown";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// Runs a job that saves one step for each byte that it reads from `in`, and writes a line to `out`
// after each.
[[noreturn]] void serve_job(const std::string& folder, const std::string& run, int in, int out) {
  const auto answer = [out](const std::string& text) {
    const std::string line = first_line(text) + "\n";
    if (::write(out, line.data(), line.size()) < 0) ::_exit(3);
  };
  ::setenv("MUSTER_RUN_ID", run.c_str(), 1);
  try {
    Checkpoints checkpoints(
        join(), group(),
        {.folder = folder, .asynchronous = false, .warn = [](const std::string&) {}});
    const Training training;
    training.track(checkpoints);
    answer("ready");
    char byte = 0;
    for (int step = 1; ::read(in, &byte, 1) == 1; ++step) {
      checkpoints.save({.step = step});
      answer(checkpoints.finish() ? "kept" : "not kept");
    }
  } catch (const std::exception& error) {
    answer(error.what());
  }
  ::_exit(0);
}

// A job in a separate process, which ends when this object is destroyed.
class OtherJob {
 public:
  OtherJob(const std::string& folder, const std::string& run) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe(to.data()) != 0 || ::pipe(from.data()) != 0) throw std::runtime_error("pipe");
    process_ = ::fork();
    if (process_ == 0) {
      ::close(to[1]);
      ::close(from[0]);
      serve_job(folder, run, to[0], from[1]);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    EXPECT_EQ(next_line(), "ready");
  }
  ~OtherJob() {
    ::close(to_);
    ::waitpid(process_, nullptr, 0);
    ::close(from_);
  }
  OtherJob(const OtherJob&) = delete;
  OtherJob& operator=(const OtherJob&) = delete;

  [[nodiscard]] std::string save() const {
    return ::write(to_, "s", 1) == 1 ? next_line() : "not asked";
  }
  void kill() const { ::kill(process_, SIGKILL); }

 private:
  [[nodiscard]] std::string next_line() const {
    std::string line;
    char byte = 0;
    while (::read(from_, &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }
  pid_t process_ = 0;
  int to_ = -1;
  int from_ = -1;
};

TEST_F(CheckpointTest, ASecondJobInTheSameDirectoryIsRefused) {
  (void)group();
  {
    const OtherJob first(folder, kRun);
    const fs::path unfinished = folder + "/step-000000000007.tmp-first";
    fs::create_directory(unfinished);
    const std::string text = error_of([&] { Checkpoints(join(), group(), options()); });
    EXPECT_NE(text.find(folder + ": is in use by run " + kRun + " on " + own_host()),
              std::string::npos)
        << text;
    EXPECT_TRUE(fs::exists(unfinished)) << "the second job removed what the first one was saving";
    EXPECT_EQ(first.save(), "kept");
  }
  const Checkpoints checkpoints(join(), group(), options());  // the first job has ended
  EXPECT_EQ(warnings, "");
}

TEST_F(CheckpointTest, TheDirectoryOfAJobThatWasKilledIsFree) {
  (void)group();
  {
    const OtherJob first(folder, kRun);
    EXPECT_EQ(first.save(), "kept");
    first.kill();
  }
  EXPECT_TRUE(fs::exists(folder + "/in-use.json"));
  const Checkpoints checkpoints(join(), group(), options());
  EXPECT_EQ(warnings, "");
}

TEST_F(CheckpointTest, TheNextAttemptOfARunTakesOverAndTheEarlierOneSavesNothingMore) {
  (void)group();
  const OtherJob first(folder, kRun);
  EXPECT_EQ(first.save(), "kept");
  const std::string next = kRun + ".1";
  ::setenv("MUSTER_RUN_ID", next.c_str(), 1);
  const Checkpoints checkpoints(join(), group(), options());
  ::unsetenv("MUSTER_RUN_ID");
  const std::string said = first.save();
  EXPECT_NE(said.find("was taken over by run " + next + " on " + own_host()), std::string::npos)
      << said;
  EXPECT_FALSE(fs::exists(folder + "/step-000000000002"));
}

TEST_F(CheckpointTest, AJobOnALostHostKeepsTheDirectoryForAWhileOnly) {
  write_file(folder + "/in-use.json",
             R"({"host":"n9","kernel":"other","mark":"m","process":"p","run":"r"})");
  CheckpointOptions impatient = options();
  impatient.lost_after = std::chrono::milliseconds(1);
  {
    Checkpoints checkpoints(join(), group(), impatient);
    const Training training;
    training.track(checkpoints);
    checkpoints.save({.step = 1});
    EXPECT_TRUE(checkpoints.finish());
  }
  EXPECT_FALSE(fs::exists(folder + "/in-use.json"));
}

TEST_F(CheckpointTest, ADiskWithRoomForAPartOfTheClaimIsClaimedLikeAFullOne) {
  (void)group();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit ten_bytes{10, before.rlim_max};  // the kernel then writes ten bytes without an error
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &ten_bytes), 0);
  const std::string text = error_of([&] { Checkpoints(join(), group(), options()); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, ignored);
  EXPECT_EQ(text, "nothing was thrown");
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
    // With two good checkpoints, the others are removed.
    for (const int step : {4, 5}) checkpoints->save({.step = step});
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2 + 1);  // plus in-use.json
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
