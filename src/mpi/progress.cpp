#include "mpi/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <utility>

#include <sched.h>
#include <sys/prctl.h>

namespace muster::mpi {
namespace {

constexpr int kQuestion = 1;  // tags on the control communicator
constexpr int kAnswer = 2;
constexpr int kMeeting = 10;  // and above
constexpr std::uint64_t kMeetings = 30000;
constexpr std::uint64_t kGivesUp = ~std::uint64_t{0};  // instead of how many collectives were begun
constexpr std::size_t kMostThreads = 16;
constexpr std::size_t kWords = 3;   // group, sequence, posted
constexpr int kTests = 8;           // of what somebody waits for, for one of everything else
constexpr std::size_t kLooks = 64;  // operations tested in one go
constexpr int kSpins = 50;          // polls before others are let run, where ranks share processors
constexpr int kSpinsAlone = 5000;   // and where they do not
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

long usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Ranks that wait for each other, with a byte for each message.
class Gathering final : public Operation {
 public:
  Gathering(std::string what, std::size_t messages) : words(messages), what_(std::move(what)) {}
  std::vector<char> words;

 private:
  [[nodiscard]] std::string text() const override { return what_; }
  std::string what_;
};

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
  const auto here = std::ranges::count(hosts_, host.substr(0, Library::kNameBytes));
  spins_ = here <= usable_processors() ? kSpinsAlone : kSpins;
  threads_.emplace_back([this] { run(); });
}

Progress::~Progress() {
  stop();
  for (auto& thread : stuck_) thread.join();
  world_.reset();
}

std::shared_ptr<Group> Progress::adopt(Comm comm, std::vector<int> world_ranks) {
  const auto free = [this](Group* group) {
    auto guard = lock(Clock::now() + kFindOut);
    if (!guard && is_broken()) static_cast<void>(guard.try_lock());
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
  group->highest_tag = library_->highest_tag();
  group->world_ranks = std::move(world_ranks);
  groups_[group->id] = group.get();
  return group;
}

// Members report to the first of them, and when all have, it lets them go. So nobody is in MPI,
// deaf to questions, while others are still far away.
void Progress::meet(const std::vector<int>& members, milliseconds timeout) {
  const int tag = kMeeting + static_cast<int>(hash(members) % kMeetings);
  const bool leads = world_->rank == members.front();
  std::vector<int> others;
  for (const int rank : members)
    if (rank != world_->rank) others.push_back(rank);
  if (others.empty()) return;
  std::vector<int> partners = leads ? others : std::vector{members.front()};
  for (const bool leaving : {false, true}) {
    const auto step =
        std::make_shared<Gathering>("a group of " + list(members, hosts_), partners.size());
    submit(
        step,
        {.group = world_, .timeout = timeout, .collective = false, .peers = others, .wait = true},
        [&](Library& library, Comm /*world*/, std::vector<Request>& requests) {
          int error = 0;
          for (std::size_t i = 0; i < partners.size() && error == 0; ++i) {
            char* word = &step->words[i];
            error = leads == leaving ? library.isend(word, 1, partners[i], tag, control_,
                                                     requests.emplace_back())
                                     : library.ireceive(word, 1, partners[i], tag, control_,
                                                        requests.emplace_back());
          }
          return error;
        });
    if (step->error()) std::rethrow_exception(step->error());
  }
}

std::shared_ptr<Group> Progress::subgroup(const Group& parent, const std::vector<int>& ranks,
                                          milliseconds timeout) {
  timeout = std::min<milliseconds>(timeout, kLongest);
  std::vector<int> members;
  members.reserve(ranks.size());
  for (const int rank : ranks)
    members.push_back(parent.world_ranks[static_cast<std::size_t>(rank)]);
  meet(members, timeout);
  // MPI blocks all the same. On a thread of its own, so that this one can give up.
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
  while (!guard && !is_broken() && Clock::now() < until) {
    sched_yield();
    static_cast<void>(guard.try_lock());
  }
  return guard;
}

void Progress::submit(const std::shared_ptr<Operation>& operation, const Submission& how,
                      Post post) {
  Operation& op = *operation;
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
          guard && !why_broken_.empty() ? why_broken_ : "a thread is stuck in MPI";
      std::rethrow_exception(op.failure("MPI: " + op.text() + " cannot begin: " + why));
    }
    op.sequence_ = op.collective_ ? ++op.group_->posted : ++messages_;
    const int error = post(*library_, op.group_->comm, op.requests_);
    if (error != 0) op.mpi_error_ = library_->error_text(error);
    // What is small is over before anything else would be worth its time.
    bool is_over = false;
    for (int i = 0; how.wait && i < kSpins && !is_over; ++i) is_over = test_locked(op);
    if (is_over) {
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
  bool stuck = false;
  bool in_time = true;
  ++waiting_;
  for (int polls = 0; !operation.is_done(); ++polls) {
    poll(&operation);
    if (polls < spins_ && polls % kSpins != 0) continue;
    const auto now = Clock::now();
    in_time = timeout.count() == 0 || now - began < timeout;
    if (is_broken() && broken_for == Clock::duration::zero()) broken_for = now - began;
    stuck = now >= operation.limit_ || (is_broken() && now - began - broken_for > kFindOut / 2);
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
                                           " was given up: another thread is stuck in MPI"));
}

// Whether anything ended. The caller is counted in waiting_.
bool Progress::poll(Operation* first) {
  Operations over;
  {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard) return false;
    poll_locked(first, Clock::now(), over);
  }
  if (over.empty()) return false;
  // What follows an operation is somebody's code: it may take long, or wait for another operation.
  --waiting_;
  if (pending_count_ > 0) wake();
  complete(over);
  ++waiting_;
  return true;
}

void Progress::poll_locked(Operation* first, Clock::time_point now, Operations& over) {
  if (is_broken()) {
    // No call into MPI any more: it would write to tensors that their owner thinks are his again.
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
  if (!operation.mpi_error_.empty() && !operation.failing_) {
    operation.failing_ = true;
    operation.ask_at_ = now;
    operation.deadline_ = std::min(operation.deadline_, now + kFindOut);
  }
  if (now >= operation.ask_at_) {
    // At half time, and again shortly before the end: who answered may have died since.
    operation.asked_ = true;
    operation.answers_.clear();
    ask_locked(operation);
    const auto for_answers = std::min<milliseconds>(kFindOut, operation.timeout_ / 4);
    const auto again = operation.deadline_ - for_answers;
    operation.ask_at_ = now < again && !operation.failing_ ? again : Clock::time_point::max();
    // Who was stopped himself must not blame the others at once.
    operation.deadline_ = std::max(operation.deadline_, now + for_answers);
  }
  return now >= operation.deadline_ ||
         (operation.failing_ && operation.answers_.size() >= peers_of(operation).size());
}

void Progress::fail_all_locked(Operation& culprit, Operations& over) {
  why_broken_ = "MPI: " + diagnosis_locked(culprit);
  // The last that the others hear, so that they do not take this rank for a dead one.
  for (const int rank : peers_of(culprit))
    tell_locked(rank, kAnswer, culprit.group_->id, culprit.sequence_, kGivesUp);
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
    try {
      operation->ended();
    } catch (const std::exception& error) {  // nobody is there to catch it
      std::fprintf(stderr, "muster: MPI: what followed %s threw: %s\n", operation->text().c_str(),
                   error.what());
    }
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

bool Progress::part(milliseconds patience) {
  constexpr int kSilences = 3;  // one can be an accident
  const auto farewell = std::make_shared<Gathering>("the end of the job", 0);
  submit(farewell, {.group = world_, .timeout = kLongest, .collective = false},
         [this](Library& library, Comm /*world*/, std::vector<Request>& requests) {
           return library.ibarrier(control_, requests.emplace_back());
         });
  for (int silences = 0; !wait(*farewell, patience);) {
    {
      const auto guard = lock(Clock::now() + kFindOut);
      if (!guard) return false;
      farewell->asked_ = true;
      farewell->answers_.clear();
      ask_locked(*farewell);
    }
    if (wait(*farewell, patience)) break;
    const auto guard = lock(Clock::now() + kFindOut);
    if (!guard || !have_left_.empty()) return false;
    silences = farewell->answers_.size() < peers_of(*farewell).size() ? silences + 1 : 0;
    if (silences == kSilences) return false;
  }
  return !farewell->error();
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
    // A program may finalise MPI in what follows an operation, on one of them.
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
  prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default is as long as a short operation
  std::unique_lock guard(sleep_);
  while (true) {
    ++standing_by_;
    role_.wait(guard, [this] { return stopping_ || !polling_; });
    --standing_by_;
    if (stopping_) return;
    polling_ = true;
    guard.unlock();
    const Operations over = poll_until_something_ends();
    guard.lock();
    polling_ = false;
    if (over.empty()) continue;
    need_poller_locked();
    guard.unlock();
    complete(over);
    guard.lock();
  }
}

// Nothing ended: it is time to stop.
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
                    known == groups_.end() ? 0 : known->second->posted.load());
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
  if (posted == kGivesUp) {
    have_left_.insert(world_rank);
    return;
  }
  for (const auto& operation : pending_)
    if (operation->group_->id == group && operation->sequence_ == sequence && operation->asked_)
      operation->answers_[world_rank] = posted;
}

std::string Progress::diagnosis_locked(const Operation& operation) const {
  std::vector<int> silent;
  std::vector<int> behind;
  std::vector<int> left;
  for (const int rank : peers_of(operation)) {
    const auto answer = operation.answers_.find(rank);
    if (have_left_.contains(rank))
      left.push_back(rank);
    else if (answer == operation.answers_.end())
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
  if (!left.empty())
    text += std::string(silent.empty() && behind.empty() ? ": " : "; ") + list(left, hosts_) +
            (left.size() == 1 ? " has" : " have") + " given up before";
  if (silent.empty() && behind.empty() && left.empty())
    text += operation.collective_
                ? ": all ranks have called it and answer; the network is slow, or they called "
                  "different things"
                : ": " + list(peers_of(operation), hosts_) +
                      (peers_of(operation).size() == 1 ? " answers, but its part never came"
                                                       : " answer, but not all of them have come");
  return text;
}

}  // namespace muster::mpi
