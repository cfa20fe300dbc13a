#include "mpi/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

namespace muster::mpi {
namespace {

constexpr std::size_t kMostThreads = 16;
// An operation that a thread waits for is tested this many times for each test of the others.
constexpr int kTests = 8;
constexpr std::size_t kLooks = 64;  // operations tested in one round
// How often a waiting thread polls before it yields: if ranks share CPUs, and if they do not.
constexpr int kSpins = 50;
constexpr int kSpinsAlone = 5000;
// The longest time that a question from another rank stays unread.
constexpr auto kIdle = milliseconds(100);
// After this long, a waiting rank stops keeping a whole core busy.
constexpr auto kEager = std::chrono::seconds(1);

void nap(std::chrono::microseconds time) {
  std::this_thread::sleep_for(time);
}

std::atomic<bool> g_is_forked_child = false;

long usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

bool is_forked_child() {
  return g_is_forked_child.load(std::memory_order_relaxed);
}

Progress::Progress(std::unique_ptr<Library> library, const std::string& host)
    : library_(std::move(library)) {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { g_is_forked_child = true; });
  check(library_->duplicate_world(control_), "cannot duplicate the world");
  check(library_->gather_names(control_, host, hosts_), "cannot gather hosts");
  Comm comm;
  check(library_->duplicate_world(comm), "cannot duplicate the world");
  std::vector<int> everybody(hosts_.size());
  for (std::size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  world_ = adopt(comm, std::move(everybody));
  check(library_->before_finalise([this] {
    stop();
    abort("MPI has been finalised");
  }),
        "cannot detect when MPI ends");
  const auto here = std::ranges::count(hosts_, host.substr(0, Library::kNameBytes));
  spins_ = here <= usable_processors() ? kSpinsAlone : kSpins;
  threads_.emplace_back([this] { run(); });
}

void Progress::check(int error, const std::string& what) const {
  if (error != 0) throw std::runtime_error("MPI: " + what + ": " + library_->error_text(error));
}

Progress::~Progress() {
  stop();
  for (auto& thread : stuck_) thread.join();
  world_.reset();
}

std::unique_lock<std::mutex> Progress::lock(Clock::time_point until) {
  std::unique_lock guard(mutex_, std::try_to_lock);
  while (!guard && !is_broken() && Clock::now() < until) {
    sched_yield();
    static_cast<void>(guard.try_lock());
  }
  return guard;
}

void Progress::submit(const std::shared_ptr<Operation>& operation, const Submission& how,
                      Post post) {
  Operation& op = *operation;
  if (is_forked_child())
    std::rethrow_exception(op.failure("MPI: " + op.text() +
                                      " cannot start: this process was forked from the one that "
                                      "initialised MPI; use the start method 'spawn' instead"));
  op.group_ = how.group;
  op.collective_ = how.collective;
  op.peers_ = how.peers;
  op.timeout_ = std::min<milliseconds>(how.timeout, kLongest);
  const auto now = Clock::now();
  op.deadline_ = now + op.timeout_;
  op.ask_at_ = now + op.timeout_ / 2;
  op.limit_ = op.deadline_ + 2 * kFindOut;
  Operations over;
  {
    const auto guard = lock(op.deadline_);
    if (!guard || is_broken()) {
      const std::string why =
          guard && !why_broken_.empty() ? why_broken_ : "another thread is stuck in MPI";
      std::rethrow_exception(op.failure("MPI: " + op.text() + " cannot start: " + why));
    }
    op.sequence_ = op.collective_ ? ++op.group_->posted : ++messages_;
    op.begun(op.sequence_, op.collective_);
    const int error = post(*library_, op.group_->comm, op.requests_);
    if (error != 0) op.mpi_error_ = library_->error_text(error);
    // Small operations usually end within a few polls, so try that first.
    bool is_over = false;
    for (int i = 0; how.wait && i < kSpins && !is_over; ++i) is_over = test_locked(op);
    if (is_over) {
      ++ending_count_;
      over.push_back(operation);
    } else {
      pending_.push_back(operation);
      op.pending_ = true;
      ++pending_count_;
    }
  }
  complete(over);
  if (!how.wait)
    wake();
  else if (over.empty())
    wait(op);
}

bool Progress::wait(Operation& operation, milliseconds timeout) {
  if (operation.is_done()) return true;
  const auto began = Clock::now();
  auto broken_for = Clock::duration::zero();
  std::optional<Clock::time_point> overdue_since;
  bool stuck = false;
  bool in_time = true;
  ++waiting_;
  for (int polls = 0; !operation.is_done(); ++polls) {
    poll(&operation);
    if (polls < spins_ && polls % kSpins != 0) continue;
    const auto now = Clock::now();
    in_time = timeout.count() == 0 || now - began < timeout;
    if (is_broken() && broken_for == Clock::duration::zero()) broken_for = now - began;
    // Do not report the time-out at the first look: a process that was stopped for a while may find
    // the limit long past, and its next poll moves the limit.
    if (now < operation.limit_.load()) {
      overdue_since.reset();
    } else if (!overdue_since) {
      overdue_since = now;
    }
    stuck = (overdue_since && now - *overdue_since > kFindOut / 4) ||
            (is_broken() && now - began - broken_for > kFindOut / 2);
    if (!in_time || stuck) break;
    if (polls < spins_) continue;
    if (now - began < kEager)
      sched_yield();
    else
      nap(std::chrono::microseconds(20));
  }
  if (--waiting_ == 0 && pending_count_ > 0) wake();
  if (operation.is_done()) return true;
  if (!stuck) return in_time;
  broken_ = true;
  std::rethrow_exception(operation.failure("MPI: " + operation.text() +
                                           " was aborted: another thread is stuck in MPI"));
}

// Returns whether any operation ended. The caller has counted itself in waiting_.
bool Progress::poll(Operation* first) {
  Operations over;
  {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard) return false;
    poll_locked(first, Clock::now(), over);
  }
  if (over.empty()) return false;
  // complete() runs the program's callbacks, which may take long or wait for another operation.
  --waiting_;
  if (pending_count_ > 0) wake();
  complete(over);
  ++waiting_;
  return true;
}

void Progress::poll_locked(Operation* first, Clock::time_point now, Operations& over) {
  if (is_broken()) {
    // Make no further call into MPI: it would write to tensors that their owners already use again.
    give_up_locked(nullptr, over);
    return;
  }
  const auto look = [&](Operation& operation) {
    if (operation.mpi_error_.empty() && test_locked(operation)) {
      remove_locked(operation, over);
    } else if (is_hopeless_locked(operation, now)) {
      fail_all_locked(operation, over);
    }
  };
  for (int i = 0; i < kTests && first != nullptr && first->pending_; ++i) look(*first);
  for (std::size_t i = std::min(kLooks, pending_.size()); i > 0 && !pending_.empty(); --i) {
    if (next_ >= pending_.size()) next_ = 0;
    Operation& operation = *pending_[next_++];
    if (&operation != first) look(operation);
  }
  if (!is_broken()) talk_locked(now);
}

// Returns whether all requests of the operation are done.
bool Progress::test_locked(Operation& operation) {
  std::erase_if(operation.requests_, [&](Request& request) {
    Completion completion;
    if (!operation.mpi_error_.empty()) return false;
    if (const int error = library_->test(request, completion)) {
      operation.mpi_error_ = library_->error_text(error);
    } else if (completion.done) {
      operation.source_ = completion.source;
    }
    return completion.done;
  });
  return operation.requests_.empty() && operation.mpi_error_.empty();
}

bool Progress::is_hopeless_locked(Operation& operation, Clock::time_point now) {
  if (!operation.mpi_error_.empty() && !operation.failing_) {
    operation.failing_ = true;
    operation.ask_at_ = now;
    operation.deadline_ = std::min(operation.deadline_, now + kFindOut);
  }
  if (now >= operation.ask_at_) {
    // Ask at half time and again shortly before the deadline, because a rank that answered may have
    // died in the meantime.
    operation.asked_ = true;
    operation.answers_.clear();
    ask_locked(operation);
    const auto for_answers = std::min<milliseconds>(kFindOut, operation.timeout_ / 4);
    const auto again = operation.deadline_ - for_answers;
    operation.ask_at_ = now < again && !operation.failing_ ? again : Clock::time_point::max();
    // If this process was stopped for a while, it must not blame the others right away.
    operation.deadline_ = std::max(operation.deadline_, now + for_answers);
    operation.limit_ = operation.deadline_ + 2 * kFindOut;
  }
  return now >= operation.deadline_ ||
         (operation.failing_ && operation.answers_.size() >= peers_of(operation).size());
}

void Progress::fail_all_locked(Operation& culprit, Operations& over) {
  why_broken_ = "MPI: " + diagnosis_locked(culprit);
  say_last_words_locked(culprit);
  give_up_locked(&culprit, over);
}

void Progress::give_up_locked(const Operation* culprit, Operations& over) {
  broken_ = true;
  for (const auto& operation : pending_) {
    const bool is_culprit = operation.get() == culprit;
    operation->error_ = operation->failure(
        is_culprit ? why_broken_ : "MPI: " + operation->text() + " was aborted: " + why_broken_);
    operation->pending_ = false;
  }
  ending_count_ += pending_.size();
  over.insert(over.end(), pending_.begin(), pending_.end());
  abandoned_.insert(abandoned_.end(), pending_.begin(), pending_.end());
  pending_.clear();
  pending_count_ = 0;
}

void Progress::remove_locked(const Operation& operation, Operations& over) {
  const auto at = std::ranges::find_if(
      pending_, [&](const auto& pending) { return pending.get() == &operation; });
  if (at == pending_.end()) return;
  (*at)->pending_ = false;
  over.push_back(std::move(*at));
  *at = std::move(pending_.back());
  pending_.pop_back();
  ++ending_count_;
  --pending_count_;
}

void Progress::complete(Operations& over) {
  for (auto& operation : over) {
    try {
      if (!operation->error_) operation->finish();
    } catch (...) {
      operation->error_ = std::current_exception();
    }
    operation->done_.store(true, std::memory_order_release);
    try {
      operation->ended();
    } catch (const std::exception& error) {  // no caller could catch it
      std::fprintf(stderr, "muster: MPI: the callback of %s threw an exception: %s\n",
                   operation->text().c_str(), error.what());
    }
    // Release the operation while drain() still waits for it: freeing its tensors may need Python's
    // lock, and freeing its group may need MPI.
    operation.reset();
    --ending_count_;
  }
}

void Progress::abort(const std::string& why) {
  broken_ = true;
  Operations over;
  if (const auto guard = lock(Clock::now() + kFindOut)) {
    if (why_broken_.empty()) why_broken_ = why;
    give_up_locked(nullptr, over);
  }
  complete(over);
}

bool Progress::drain(milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  ++waiting_;
  const auto is_busy = [this] { return pending_count_ > 0 || ending_count_ > 0; };
  while (is_busy() && Clock::now() < until)
    if (!poll(nullptr)) sched_yield();
  --waiting_;
  return !is_busy();
}

void Progress::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard guard(sleep_);
    stopping_ = true;
    wake_.notify_all();
    role_.notify_all();
    threads.swap(threads_);
  }
  for (auto& thread : threads) {
    // The program may finalise MPI from a callback that runs on one of these threads.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

void Progress::wake() {
  const std::lock_guard guard(sleep_);
  woken_ = true;
  wake_.notify_one();
  need_poller_locked();
}

void Progress::need_poller_locked() {
  if (polling_ || stopping_) return;
  if (standing_by_ > 0)
    role_.notify_one();
  else if (threads_.size() < kMostThreads)
    threads_.emplace_back([this] { run(); });
}

void Progress::run() {
  prctl(PR_SET_NAME, "muster-mpi");
  prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default is as long as a short operation takes
  std::unique_lock guard(sleep_);
  while (true) {
    ++standing_by_;
    role_.wait(guard, [this] { return stopping_ || !polling_; });
    --standing_by_;
    if (stopping_) return;
    polling_ = true;
    guard.unlock();
    Operations over = poll_until_something_ends();
    guard.lock();
    polling_ = false;
    if (over.empty()) continue;
    need_poller_locked();
    guard.unlock();
    complete(over);
    over.clear();
    guard.lock();
  }
}

// Returns nothing when it is time to stop.
Progress::Operations Progress::poll_until_something_ends() {
  Operations over;
  for (int in_vain = 0; over.empty() && !stopping_; ++in_vain) {
    if (pending_count_ == 0 || waiting_ > 0) {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, kIdle, [this] { return woken_ || stopping_; });
      woken_ = false;
      in_vain = 0;
    } else if (in_vain < kSpins) {
      sched_yield();
    } else {
      nap(std::chrono::microseconds(20));
    }
    if (waiting_ > 0 || stopping_) continue;
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (guard) poll_locked(nullptr, Clock::now(), over);
  }
  return over;
}

}  // namespace muster::mpi
