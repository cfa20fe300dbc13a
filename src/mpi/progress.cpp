#include "mpi/progress.hpp"

#include <algorithm>
#include <future>
#include <stdexcept>
#include <utility>

#include <sched.h>
#include <sys/prctl.h>

namespace muster::mpi {
namespace {

constexpr int kQuestion = 1;  // tags on the control communicator
constexpr int kAnswer = 2;
constexpr std::size_t kWords = 3;   // group, sequence, posted
constexpr std::size_t kLooks = 64;  // operations tested in one go
constexpr int kSpins = 50;          // polls of a waiting thread before it lets others run
constexpr auto kTalkEvery = milliseconds(20);
constexpr auto kIdle = milliseconds(100);                // how long a question may stay unread
constexpr auto kFindOut = milliseconds(2000);            // for answers after an error of MPI's
constexpr auto kLongest = std::chrono::hours(24 * 365);  // can still be added to a time
constexpr auto kEager = std::chrono::seconds(1);         // a longer wait is not worth a whole core

void nap(std::chrono::microseconds time) {
  std::this_thread::sleep_for(time);
}

std::string seconds(milliseconds time) {
  const auto count = time.count();
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) text += "." + std::to_string(1000 + (count % 1000)).substr(1);
  return text + " s";
}

// "rank 3 on n2, rank 4 on n2 and 7 more"
std::string list(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += "rank " + std::to_string(ranks[i]) + " on " + hosts[static_cast<std::size_t>(ranks[i])];
  }
  if (ranks.size() > kMost) text += " and " + std::to_string(ranks.size() - kMost) + " more";
  return text;
}

void check(Library& library, int error, const std::string& what) {
  if (error != 0) throw std::runtime_error("MPI: " + what + ": " + library.error_text(error));
}

// FNV-1a: the same on every host.
std::uint64_t hash(const std::vector<int>& ranks) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const int rank : ranks)
    for (int byte = 0; byte < 4; ++byte)
      value = (value ^ ((static_cast<std::uint32_t>(rank) >> (8 * byte)) & 0xff)) * 0x100000001b3;
  return value;
}

}  // namespace

Progress::Progress(std::unique_ptr<Library> library, const std::string& host)
    : library_(std::move(library)) {
  check(*library_, library_->duplicate_world(control_), "cannot duplicate the world");
  check(*library_, library_->gather_names(control_, host, hosts_), "cannot gather hosts");
  Comm comm;
  check(*library_, library_->duplicate_world(comm), "cannot duplicate the world");
  std::vector<int> everybody(hosts_.size());
  for (std::size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  world_ = adopt(comm, std::move(everybody));
  check(*library_, library_->before_finalise([this] {
    stop();
    abort("MPI has been finalised");
  }),
        "cannot learn of its end");
  thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  stop();
  for (auto& thread : stuck_) thread.join();
  world_.reset();
}

std::shared_ptr<Group> Progress::adopt(Comm comm, std::vector<int> world_ranks) {
  const auto free = [this](Group* group) {
    const auto guard = lock(Clock::now() + kFindOut);
    if (!guard) return;  // a thread is stuck in MPI: the process is about to leave, with all it has
    groups_.erase(group->id);
    // In a broken job it might wait for ever.
    if (!is_broken() && !library_->finalised()) static_cast<void>(library_->free(group->comm));
    delete group;
  };
  const std::uint64_t members = hash(world_ranks);
  std::shared_ptr<Group> group(new Group, free);
  group->comm = comm;
  group->id = members + groups_made_[members]++;
  group->rank = library_->rank(comm);
  group->world_ranks = std::move(world_ranks);
  groups_[group->id] = group.get();
  return group;
}

std::shared_ptr<Group> Progress::subgroup(const Group& parent, const std::vector<int>& ranks,
                                          milliseconds timeout) {
  std::vector<int> members;
  members.reserve(ranks.size());
  for (const int rank : ranks)
    members.push_back(parent.world_ranks[static_cast<std::size_t>(rank)]);
  // MPI blocks here until all have come. On a thread of its own, so that this one can give up.
  auto made = std::make_shared<std::promise<std::shared_ptr<Group>>>();
  auto result = made->get_future();
  const int tag = static_cast<int>(hash(members) % 30000);
  std::thread maker([this, made, tag, ranks, members, timeout, comm = parent.comm] {
    try {
      const auto guard = lock(Clock::now() + timeout);
      if (!guard) throw std::runtime_error("MPI: another thread is stuck in it");
      Comm child;
      check(*library_, library_->subgroup(comm, ranks, tag, child), "cannot make a group");
      made->set_value(adopt(child, members));
    } catch (...) {
      made->set_exception(std::current_exception());
    }
  });
  if (result.wait_for(timeout) != std::future_status::ready) {
    broken_ = true;
    stuck_.push_back(std::move(maker));
    throw std::runtime_error("MPI: " + list(members, hosts_) +
                             " have not all made a group of themselves within " + seconds(timeout));
  }
  maker.join();
  return result.get();
}

std::unique_lock<std::mutex> Progress::lock(Clock::time_point until) {
  std::unique_lock guard(mutex_, std::try_to_lock);
  while (!guard && Clock::now() < until) {
    sched_yield();
    static_cast<void>(guard.try_lock());
  }
  return guard;
}

void Progress::submit(const std::shared_ptr<Operation>& operation, const Submission& how,
                      const Post& post) {
  Operation& op = *operation;
  op.group_ = how.group;
  op.collective_ = how.collective;
  op.peers_ = how.peers;
  op.timeout_ = std::min<milliseconds>(how.timeout, kLongest);
  const auto now = Clock::now();
  op.deadline_ = now + op.timeout_;
  op.ask_at_ = now + op.timeout_ / 2;
  Operations over;
  {
    const auto guard = lock(op.deadline_);
    if (!guard) throw std::runtime_error("MPI: " + op.text() + ": another thread is stuck in MPI");
    if (is_broken())
      throw std::runtime_error(
          "MPI: " + op.text() +
          " cannot begin: " + (why_broken_.empty() ? "a group was not made in time" : why_broken_));
    op.sequence_ = op.collective_ ? ++op.group_->posted : ++messages_;
    const int error = post(*library_, op.group_->comm, op.requests_);
    if (error != 0) op.mpi_error_ = library_->error_text(error);
    pending_.push_back(operation);
    op.pending_ = true;
    ++pending_count_;
    if (how.wait) poll_locked(&op, now, over);
  }
  complete(over);
  if (how.wait)
    wait(op);
  else
    wake();
}

bool Progress::wait(Operation& operation, milliseconds timeout) {
  if (operation.is_done()) return true;
  const auto began = Clock::now();
  ++waiting_;
  bool in_time = true;
  for (int polls = 0; !operation.is_done(); ++polls) {
    poll(&operation);
    if (polls < kSpins) continue;
    const auto waited = Clock::now() - began;
    if (timeout.count() > 0 && waited >= timeout) {
      in_time = operation.is_done();
      break;
    }
    if (waited < kEager)
      sched_yield();
    else
      nap(std::chrono::microseconds(20));
  }
  if (--waiting_ == 0 && pending_count_ > 0) wake();
  return in_time;
}

// Whether anything ended.
bool Progress::poll(Operation* first) {
  Operations over;
  {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard) return false;
    poll_locked(first, Clock::now(), over);
  }
  complete(over);
  return !over.empty();
}

void Progress::poll_locked(Operation* first, Clock::time_point now, Operations& over) {
  const auto look = [&](Operation& operation) {
    if (operation.mpi_error_.empty() && test_locked(operation)) {
      remove_locked(operation, over);
    } else if (is_hopeless_locked(operation, now)) {
      fail_all_locked(operation, over);
    }
  };
  if (first != nullptr && first->pending_) look(*first);
  for (std::size_t i = std::min(kLooks, pending_.size()); i > 0 && !pending_.empty(); --i) {
    if (next_ >= pending_.size()) next_ = 0;
    Operation& operation = *pending_[next_++];
    if (&operation != first) look(operation);
  }
  talk_locked(now);
}

// Whether all of it is over.
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
  const bool failed = !operation.mpi_error_.empty();
  if (!operation.asked_ && (failed || now >= operation.ask_at_)) {
    operation.asked_ = true;
    if (failed) operation.deadline_ = std::min(operation.deadline_, now + kFindOut);
    ask_locked(operation);
  }
  return now >= operation.deadline_ ||
         (failed && operation.answers_.size() >= peers_of(operation).size());
}

void Progress::fail_all_locked(Operation& culprit, Operations& over) {
  why_broken_ = "MPI: " + diagnosis_locked(culprit);
  give_up_locked(&culprit, over);
}

void Progress::give_up_locked(const Operation* culprit, Operations& over) {
  broken_ = true;
  for (const auto& operation : pending_) {
    const bool is_culprit = operation.get() == culprit;
    operation->error_ = operation->failure(
        is_culprit ? why_broken_ : "MPI: " + operation->text() + " was given up: " + why_broken_);
    operation->pending_ = false;
  }
  over.insert(over.end(), pending_.begin(), pending_.end());
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
  --pending_count_;
}

void Progress::complete(const Operations& over) {
  for (const auto& operation : over) {
    try {
      if (!operation->error_) operation->finish();
    } catch (...) {
      operation->error_ = std::current_exception();
    }
    operation->done_.store(true, std::memory_order_release);
    operation->ended();
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
  while (pending_count_ > 0 && Clock::now() < until)
    if (!poll(nullptr)) sched_yield();
  --waiting_;
  return pending_count_ == 0;
}

void Progress::stop() {
  {
    const std::lock_guard guard(sleep_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Progress::wake() {
  const std::lock_guard guard(sleep_);
  woken_ = true;
  wake_.notify_one();
}

void Progress::run() {
  prctl(PR_SET_NAME, "muster-mpi");
  prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default is as long as a short operation
  int in_vain = 0;
  while (true) {
    if (pending_count_ == 0 || waiting_ > 0) {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, kIdle, [this] { return woken_ || stopping_; });
      if (stopping_) return;
      woken_ = false;
      in_vain = 0;
    }
    if (waiting_ > 0) continue;
    if (poll(nullptr)) {
      in_vain = 0;
    } else if (pending_count_ > 0) {
      if (++in_vain < kSpins)
        sched_yield();
      else
        nap(std::chrono::microseconds(20));
    }
    const std::lock_guard guard(sleep_);
    if (stopping_) return;
  }
}

std::vector<int> Progress::peers_of(const Operation& operation) const {
  const Group& group = *operation.group_;
  std::vector<int> ranks;
  for (int rank = 0; rank < group.size(); ++rank) {
    const bool concerned =
        operation.peers_.empty() || std::ranges::count(operation.peers_, rank) > 0;
    if (concerned && rank != group.rank)
      ranks.push_back(group.world_ranks[static_cast<std::size_t>(rank)]);
  }
  return ranks;
}

void Progress::ask_locked(Operation& operation) {
  for (const int rank : peers_of(operation))
    tell_locked(rank, kQuestion, operation.group_->id, operation.sequence_,
                operation.group_->posted);
}

void Progress::tell_locked(int world_rank, int tag, std::uint64_t group, std::uint64_t sequence,
                           std::uint64_t posted) {
  Told told{.request = {}, .words = std::make_unique<std::uint64_t[]>(kWords)};
  told.words[0] = group;
  told.words[1] = sequence;
  told.words[2] = posted;
  // Whoever cannot be told does not answer, and that is what is said of it.
  if (library_->isend(told.words.get(), kWords * sizeof(std::uint64_t), world_rank, tag, control_,
                      told.request) == 0)
    told_.push_back(std::move(told));
}

void Progress::talk_locked(Clock::time_point now) {
  if (now < next_talk_ || hosts_.size() == 1) return;
  next_talk_ = now + kTalkEvery;
  for (const int tag : {kQuestion, kAnswer}) {
    std::uint64_t words[kWords] = {};
    Completion taken;
    // Bounded by what everybody may have asked at once.
    for (std::size_t i = 0; i < 2 * hosts_.size(); ++i) {
      taken.done = false;
      if (library_->take(words, sizeof(words), tag, control_, taken) != 0 || !taken.done) break;
      if (tag == kAnswer) {
        answered_locked(taken.source, words[0], words[1], words[2]);
      } else {
        const auto known = groups_.find(words[0]);
        tell_locked(taken.source, kAnswer, words[0], words[1],
                    known == groups_.end() ? 0 : known->second->posted);
      }
    }
  }
  std::erase_if(told_, [this](Told& told) {
    Completion completion;
    return library_->test(told.request, completion) != 0 || completion.done;
  });
}

void Progress::answered_locked(int world_rank, std::uint64_t group, std::uint64_t sequence,
                               std::uint64_t posted) {
  for (const auto& operation : pending_)
    if (operation->group_->id == group && operation->sequence_ == sequence && operation->asked_)
      operation->answers_[world_rank] = posted;
}

std::string Progress::diagnosis_locked(const Operation& operation) const {
  std::vector<int> silent;
  std::vector<int> behind;
  for (const int rank : peers_of(operation)) {
    const auto answer = operation.answers_.find(rank);
    if (answer == operation.answers_.end())
      silent.push_back(rank);
    else if (operation.collective_ && answer->second < operation.sequence_)
      behind.push_back(rank);
  }
  std::string text = operation.text();
  if (operation.collective_)
    text += ", collective " + std::to_string(operation.sequence_) + " of a group of " +
            std::to_string(operation.group_->size());
  text += operation.mpi_error_.empty() ? ", did not end within " + seconds(operation.timeout_)
                                       : " failed (" + operation.mpi_error_ + ")";
  if (!silent.empty())
    text += ": " + list(silent, hosts_) + (silent.size() == 1 ? " does" : " do") +
            " not answer: stopped, ended or cut off";
  if (!behind.empty())
    text += std::string(silent.empty() ? ": " : "; ") + list(behind, hosts_) +
            (behind.size() == 1 ? " has" : " have") + " not called it";
  if (silent.empty() && behind.empty())
    text += operation.collective_
                ? ": all ranks have called it and answer; the network is slow, or they called "
                  "different things"
                : ": " + list(peers_of(operation), hosts_) + " answers, but its part never came";
  return text;
}

}  // namespace muster::mpi
