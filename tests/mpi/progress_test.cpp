// Progress with a fake MPI. The test decides when requests end, fail or never end, and what other
// ranks answer. Also built with ThreadSanitizer.
#include "mpi/progress.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <deque>
#include <future>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::mpi {
namespace {

using namespace std::chrono_literals;

// An MPI world of four ranks, where this is rank 0. Progress promises never to call it from two
// threads at once.
class FakeMpi final : public Library {
 public:
  // Protects the members from the test's own threads, which do not follow that rule.
  std::mutex mutex;
  std::map<std::uintptr_t, int> ends_after;  // polls until each request ends; negative: never
  std::map<std::uintptr_t, int> fails_with;
  // The ranks that answer, and how many collectives each has begun.
  std::map<int, std::uint64_t> answering;
  int next_polls = 0;
  int next_error = 0;
  std::vector<std::uintptr_t> freed;  // communicators
  // One bit per group, set if the other ranks have dropped it.
  std::uint64_t dropped_elsewhere = ~std::uint64_t{0};
  std::atomic<bool> is_finalised = false;

  [[nodiscard]] std::string version() const override { return "fake"; }
  [[nodiscard]] std::string error_text(int error) const override {
    return "error " + std::to_string(error);
  }
  [[nodiscard]] CudaSupport cuda() const override { return {}; }
  [[nodiscard]] bool initialised() const override { return true; }
  [[nodiscard]] bool finalised() const override { return is_finalised; }
  [[nodiscard]] int initialise(ThreadLevel& /*provided*/) override { return 0; }
  [[nodiscard]] int finalise() override {
    before_finalise_();
    is_finalised = true;
    return 0;
  }
  [[nodiscard]] int before_finalise(std::function<void()> act) override {
    before_finalise_ = std::move(act);
    return 0;
  }
  [[nodiscard]] int duplicate_world(Comm& made) override {
    made.bits = ++last_;
    return 0;
  }
  [[nodiscard]] int subgroup(Comm /*parent*/, const std::vector<int>& /*ranks*/, int /*tag*/,
                             Comm& made) override {
    const Alone alone(*this);
    if (subgroup_blocks_for.count() > 0) std::this_thread::sleep_for(subgroup_blocks_for);
    made.bits = ++last_;
    return 0;
  }
  [[nodiscard]] int gather_names(Comm /*comm*/, const std::string& name,
                                 std::vector<std::string>& names) override {
    names = {name, "n1", "n2", "n3"};
    return 0;
  }
  [[nodiscard]] int free(Comm& comm) override {
    const Alone alone(*this);
    const std::lock_guard guard(mutex);
    freed.push_back(comm.bits);
    return 0;
  }
  [[nodiscard]] int rank(Comm /*comm*/) const override { return 0; }
  [[nodiscard]] int size(Comm /*comm*/) const override { return 4; }
  [[nodiscard]] int highest_tag() const override { return 100; }
  [[nodiscard]] std::size_t most_elements() const override { return 100; }
  [[nodiscard]] std::size_t piece_bytes() const override { return 0; }

  [[nodiscard]] int ibarrier(Comm /*comm*/, Request& request) override { return begin(request); }
  [[nodiscard]] int isend(const void* data, std::size_t bytes, int to, int tag, Comm /*comm*/,
                          Request& request) override {
    const Alone alone(*this);
    const std::lock_guard guard(mutex);
    std::array<std::uint64_t, 3> words{};
    std::memcpy(words.data(), data, std::min(bytes, sizeof(words)));
    if (tag == 1 && answering.contains(to)) {  // a question; store its answer
      words[2] = answering[to];
      mail_.push_back({.source = to, .words = words});
    }
    request.bits = ++last_;
    ends_after[request.bits] = 0;
    return 0;
  }
  [[nodiscard]] int ireceive(void* data, std::size_t bytes, int /*from*/, int /*tag*/, Comm /*c*/,
                             Request& request) override {
    std::memcpy(data, &dropped_elsewhere, std::min(bytes, sizeof(dropped_elsewhere)));
    return begin(request);
  }

  [[nodiscard]] int test(Request& request, Completion& completion) override {
    const Alone alone(*this);
    const std::lock_guard guard(mutex);
    if (const auto failing = fails_with.find(request.bits); failing != fails_with.end())
      return failing->second;
    int& polls = ends_after.at(request.bits);
    if (polls == 0) {
      completion = {.done = true, .source = 2};
      ends_after.erase(request.bits);
    } else if (polls > 0) {
      --polls;
    }
    return 0;
  }

  [[nodiscard]] int take(void* data, std::size_t /*bytes*/, int tag, Comm /*comm*/,
                         Completion& taken) override {
    const Alone alone(*this);
    const std::lock_guard guard(mutex);
    if (tag != 2 || mail_.empty()) return 0;
    std::memcpy(data, mail_.front().words.data(), sizeof(mail_.front().words));
    taken = {.done = true, .source = mail_.front().source};
    mail_.pop_front();
    return 0;
  }

  std::chrono::milliseconds subgroup_blocks_for{0};

 private:
  // Aborts if two threads call the fake at the same time.
  class Alone {
   public:
    explicit Alone(FakeMpi& mpi) : mpi_(mpi) {
      if (mpi_.inside_.exchange(true)) std::abort();
    }
    ~Alone() { mpi_.inside_ = false; }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    FakeMpi& mpi_;
  };

  int begin(Request& request) {
    const Alone alone(*this);
    const std::lock_guard guard(mutex);
    request.bits = ++last_;
    ends_after[request.bits] = next_polls;
    if (next_error != 0) fails_with[request.bits] = next_error;
    return 0;
  }

  struct Mail {
    int source;
    std::array<std::uint64_t, 3> words;
  };
  std::function<void()> before_finalise_;
  std::deque<Mail> mail_;
  std::uintptr_t last_ = 0;
  std::atomic<bool> inside_ = false;
};

class Noted final : public Operation {
 public:
  explicit Noted(std::function<void()> at_end = {}) : at_end_(std::move(at_end)) {}
  [[nodiscard]] std::string text() const override { return "all_reduce of 4 Float"; }
  std::atomic<int> finished = 0;
  std::atomic<int> told = 0;
  bool finish_throws = false;

 private:
  void finish() override {
    ++finished;
    if (finish_throws) throw std::runtime_error("no room for the result");
  }
  void ended() override {
    ++told;
    if (at_end_) at_end_();
  }
  std::function<void()> at_end_;
};

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() : mpi_(new FakeMpi), progress_(std::unique_ptr<Library>(mpi_), "n0") {}

  std::shared_ptr<Noted> submit(int polls, milliseconds timeout = 10s, bool wait = false,
                                std::vector<int> peers = {}) {
    auto operation = std::make_shared<Noted>();
    submit(operation, polls, timeout, wait, std::move(peers));
    return operation;
  }

  void submit(const std::shared_ptr<Operation>& operation, int polls, milliseconds timeout = 10s,
              bool wait = false, std::vector<int> peers = {}) {
    const bool collective = peers.empty();
    progress_.submit(operation,
                     {.group = progress_.world(),
                      .timeout = timeout,
                      .collective = collective,
                      .peers = std::move(peers),
                      .wait = wait},
                     [&](Library& library, Comm comm, std::vector<Request>& requests) {
                       {
                         const std::lock_guard guard(mpi_->mutex);
                         mpi_->next_polls = polls;
                       }
                       return library.ibarrier(comm, requests.emplace_back());
                     });
  }

  static std::string error_of(const Operation& operation) {
    try {
      if (operation.error()) std::rethrow_exception(operation.error());
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  FakeMpi* mpi_;
  Progress progress_;
};

TEST_F(ProgressTest, ASynchronousOperationIsOverOnReturn) {
  const auto operation = submit(100, 10s, true);
  EXPECT_TRUE(operation->is_done());
  EXPECT_EQ(operation->finished, 1);
  EXPECT_EQ(operation->source(), 2);
  EXPECT_EQ(error_of(*operation), "");
}

TEST_F(ProgressTest, NobodyHasToWait) {
  std::promise<void> over;
  const auto operation = std::make_shared<Noted>([&] { over.set_value(); });
  submit(operation, 30);
  ASSERT_EQ(over.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(operation->is_done());
}

TEST_F(ProgressTest, WhatFollowsAnOperationMayBeginAnother) {
  std::promise<void> over;
  const auto second = std::make_shared<Noted>([&] { over.set_value(); });
  const auto first = std::make_shared<Noted>([&] { submit(second, 3); });
  submit(first, 3);
  ASSERT_EQ(over.get_future().wait_for(60s), std::future_status::ready);
}

TEST_F(ProgressTest, WhatFollowsAnOperationMayWaitForAnother) {
  std::promise<void> second_over;
  std::promise<bool> first_over;
  const auto second = std::make_shared<Noted>([&] { second_over.set_value(); });
  const auto first = std::make_shared<Noted>([&] {
    submit(second, 3);
    first_over.set_value(second_over.get_future().wait_for(60s) == std::future_status::ready);
  });
  submit(first, 3);
  EXPECT_TRUE(first_over.get_future().get());
}

TEST_F(ProgressTest, ItMayAlsoDoSoOnAThreadThatWaits) {
  std::promise<void> second_over;
  bool in_time = false;
  const auto second = std::make_shared<Noted>([&] { second_over.set_value(); });
  const auto first = std::make_shared<Noted>([&] {
    submit(second, 3);
    in_time = second_over.get_future().wait_for(60s) == std::future_status::ready;
  });
  submit(first, 3, 10s, true);
  EXPECT_TRUE(in_time);
}

// After draining, Python's interpreter ends. A thread that came back to it then would be killed.
TEST_F(ProgressTest, DrainingWaitsForWhatFollowsAnOperation) {
  std::promise<void> begun;
  std::atomic<bool> over = false;
  submit(std::make_shared<Noted>([&] {
           begun.set_value();
           std::this_thread::sleep_for(300ms);
           over = true;
         }),
         0, 10s);
  ASSERT_EQ(begun.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(progress_.drain(60s));
  EXPECT_TRUE(over);
}

TEST_F(ProgressTest, WhatFollowsAnOperationMayThrow) {
  submit(std::make_shared<Noted>([] { throw std::runtime_error("oops"); }), 3, 10s, true);
  EXPECT_EQ(error_of(*submit(3, 10s, true)), "");
}

TEST_F(ProgressTest, AnOperationThatCannotDeliverFailsAlone) {
  const auto bad = std::make_shared<Noted>();
  bad->finish_throws = true;
  submit(bad, 1);
  EXPECT_TRUE(progress_.wait(*bad));
  EXPECT_EQ(error_of(*bad), "no room for the result");
  EXPECT_EQ(error_of(*submit(1, 10s, true)), "");
}

TEST_F(ProgressTest, ATimeoutNamesWhoIsSilentAndWhoIsBehind) {
  submit(0, 10s, true);  // the first collective
  {
    const std::lock_guard guard(mpi_->mutex);
    mpi_->answering = {{1, 2}, {3, 1}};
  }
  const auto stuck = submit(-1, 2s);
  EXPECT_TRUE(progress_.wait(*stuck, 60s));
  const std::string text = error_of(*stuck);
  EXPECT_NE(text.find("all_reduce of 4 Float, collective 2 of a group of 4, did not end within "
                      "2 s"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 2 on n2 does not answer"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 3 on n3 has not called this operation"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 1"), std::string::npos) << text;
}

TEST_F(ProgressTest, ATimeoutIsSeenWhenNobodyWaits) {
  std::promise<void> over;
  const auto stuck = std::make_shared<Noted>([&] { over.set_value(); });
  submit(stuck, -1, 200ms);
  ASSERT_EQ(over.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_NE(error_of(*stuck).find("do not answer"), std::string::npos);
}

// Stops the process with all its threads after `soon`, for `how_long`.
pid_t stop_soon(pid_t process, milliseconds soon, milliseconds how_long) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::this_thread::sleep_for(soon);
  (void)::kill(process, SIGSTOP);
  std::this_thread::sleep_for(how_long);
  (void)::kill(process, SIGCONT);
  ::_exit(0);
}

TEST_F(ProgressTest, WhoWasStoppedAsksTheOthersBeforeItGivesUp) {
  const auto stuck = submit(-1, 400ms);
  // 5 s are longer than Progress waits before it considers a thread stuck.
  const pid_t child = stop_soon(::getpid(), 100ms, 5s);
  EXPECT_NO_THROW(EXPECT_TRUE(progress_.wait(*stuck, 60s)));
  EXPECT_NE(error_of(*stuck).find("do not answer"), std::string::npos) << error_of(*stuck);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(ProgressTest, AMessageThatNeverComesNamesItsSender) {
  const auto stuck = submit(-1, 200ms, false, {3});
  EXPECT_TRUE(progress_.wait(*stuck, 60s));
  EXPECT_NE(error_of(*stuck).find("rank 3 on n3 does not answer"), std::string::npos);
  EXPECT_EQ(error_of(*stuck).find("rank 1"), std::string::npos);
}

TEST_F(ProgressTest, AnErrorOfMpisIsToldWithWhoIsGone) {
  {
    const std::lock_guard guard(mpi_->mutex);
    mpi_->next_error = 17;
    mpi_->answering = {{1, 9}, {2, 9}};
  }
  const auto failed = submit(5, 3s);
  EXPECT_TRUE(progress_.wait(*failed, 60s));
  EXPECT_NE(error_of(*failed).find("failed (error 17): rank 3 on n3 does not answer"),
            std::string::npos)
      << error_of(*failed);
}

TEST_F(ProgressTest, WhoAnsweredOnceMayBeSilentInTheEnd) {
  {
    const std::lock_guard guard(mpi_->mutex);
    mpi_->answering = {{1, 9}, {2, 9}, {3, 9}};
  }
  const auto stuck = submit(-1, 8s);
  EXPECT_FALSE(progress_.wait(*stuck, 4500ms));  // more than half of the time-out has passed
  {
    const std::lock_guard guard(mpi_->mutex);
    mpi_->answering.erase(2);
  }
  EXPECT_TRUE(progress_.wait(*stuck, 60s));
  EXPECT_NE(error_of(*stuck).find("rank 2 on n2 does not answer"), std::string::npos)
      << error_of(*stuck);
}

TEST_F(ProgressTest, NobodyIsWaitedForWhoLeftWithoutAWord) {
  {
    const std::lock_guard guard(mpi_->mutex);
    mpi_->next_polls = -1;
    mpi_->answering = {{1, 0}, {3, 0}};
  }
  EXPECT_FALSE(progress_.part(100ms));
}

TEST_F(ProgressTest, AfterAFailureEverythingFailsAtOnce) {
  const auto behind = submit(-1, 60s);
  const auto stuck = submit(-1, 100ms);
  EXPECT_TRUE(progress_.wait(*stuck, 60s));
  EXPECT_TRUE(behind->is_done());
  EXPECT_NE(error_of(*behind).find("was aborted"), std::string::npos);
  EXPECT_TRUE(progress_.is_broken());
  EXPECT_THROW(submit(0), std::runtime_error);
}

TEST_F(ProgressTest, WaitingForATimeLeavesTheOperationAlone) {
  const auto slow = submit(-1, 60s);
  EXPECT_FALSE(progress_.wait(*slow, 50ms));
  EXPECT_FALSE(slow->is_done());
  EXPECT_FALSE(progress_.is_broken());
  EXPECT_FALSE(progress_.drain(50ms));
  progress_.abort("enough");
  EXPECT_NE(error_of(*slow).find("enough"), std::string::npos);
}

TEST_F(ProgressTest, AGroupIsFreedWhenItsMembersMeetAgain) {
  auto group = progress_.subgroup(*progress_.world(), {0, 2}, 5s);
  EXPECT_EQ(group->world_ranks, (std::vector{0, 2}));
  const auto used = group->comm.bits;
  mpi_->next_polls = -1;
  auto operation = std::make_shared<Noted>();
  progress_.submit(operation, {.group = group, .timeout = 60s},
                   [](Library& library, Comm comm, std::vector<Request>& requests) {
                     return library.ibarrier(comm, requests.emplace_back());
                   });
  mpi_->next_polls = 0;
  group.reset();
  const auto while_it_is_used = progress_.subgroup(*progress_.world(), {0, 2}, 5s);
  {
    const std::lock_guard guard(mpi_->mutex);
    for (auto& [request, polls] : mpi_->ends_after) polls = 0;
  }
  EXPECT_TRUE(progress_.wait(*operation));
  operation.reset();
  const auto of_others = progress_.subgroup(*progress_.world(), {0, 1}, 5s);
  EXPECT_TRUE(mpi_->freed.empty());
  // Another thread may hold the operation for a moment. The test's own time limit bounds this loop.
  while (mpi_->freed.empty()) static_cast<void>(progress_.subgroup(*progress_.world(), {0, 2}, 5s));
  EXPECT_EQ(mpi_->freed.front(), used);
}

TEST_F(ProgressTest, GroupsAreFreedInTheOrderOfTheirMakingByAllMembersOrNone) {
  std::vector<std::shared_ptr<Group>> groups;
  std::vector<std::uintptr_t> comms;
  for (int i = 0; i < 3; ++i) {
    groups.push_back(progress_.subgroup(*progress_.world(), {0, 1, 3}, 5s));
    comms.push_back(groups.back()->comm.bits);
  }
  mpi_->dropped_elsewhere = 0b101;
  for (const int drop : {2, 1, 0}) groups[static_cast<std::size_t>(drop)].reset();
  groups.push_back(progress_.subgroup(*progress_.world(), {0, 1, 3}, 5s));
  EXPECT_EQ(mpi_->freed, (std::vector{comms[0], comms[2]}));
  // Of the remaining groups, the second was dropped (bit 0) and the new one was not (bit 1).
  mpi_->dropped_elsewhere = 0b01;
  groups.push_back(progress_.subgroup(*progress_.world(), {0, 1, 3}, 5s));
  EXPECT_EQ(mpi_->freed, (std::vector{comms[0], comms[2], comms[1]}));
}

TEST_F(ProgressTest, AGroupThatIsNotMadeInTimeIsAnError) {
  mpi_->subgroup_blocks_for = 500ms;
  EXPECT_THROW(static_cast<void>(progress_.subgroup(*progress_.world(), {0, 1}, 50ms)),
               std::runtime_error);
  EXPECT_TRUE(progress_.is_broken());
}

TEST_F(ProgressTest, NothingBeginsAfterMpiWasFinalised) {
  const auto pending = submit(-1, 60s);
  EXPECT_EQ(mpi_->finalise(), 0);
  EXPECT_NE(error_of(*pending).find("MPI has been finalised"), std::string::npos);
  EXPECT_THROW(submit(0), std::runtime_error);
}

TEST_F(ProgressTest, ManyOperationsFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::atomic<int> over = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<std::shared_ptr<Noted>> mine;
      for (int i = 0; i < kEach; ++i) {
        auto operation = std::make_shared<Noted>([&] { ++over; });
        submit(operation, static_cast<int>(random() % 20), 60s, random() % 4 == 0);
        mine.push_back(operation);
        if (random() % 3 == 0) progress_.wait(*mine[random() % mine.size()]);
      }
      for (const auto& operation : mine) progress_.wait(*operation);
      for (const auto& operation : mine) EXPECT_EQ(operation->finished, 1);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(progress_.drain(5s));
  while (over < kThreads * kEach) std::this_thread::yield();
  EXPECT_EQ(over, kThreads * kEach);
}

}  // namespace
}  // namespace muster::mpi
