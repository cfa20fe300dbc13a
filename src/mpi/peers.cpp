// The messages that ranks exchange besides the operations themselves: to ask for progress, to make
// a group, and to end.
#include <algorithm>
#include <future>
#include <stdexcept>
#include <utility>

#include <sched.h>

#include "mpi/progress.hpp"

namespace muster::mpi {
namespace {

constexpr int kQuestion = 1;  // tags on the control communicator
constexpr int kAnswer = 2;
constexpr int kMeeting = 10;  // the first of kMeetings tags
constexpr std::uint64_t kMeetings = 30000;
// Sent in place of a count of collectives when a rank gives up.
constexpr std::uint64_t kGivesUp = ~std::uint64_t{0};
constexpr std::size_t kWords = 3;  // of a question or answer: group, sequence, posted
constexpr std::size_t kWordBits = 64;
constexpr auto kTalkEvery = milliseconds(20);

std::string seconds(milliseconds time) {
  const auto count = time.count();
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) text += "." + std::to_string(1000 + (count % 1000)).substr(1);
  return text + " s";
}

// Returns "rank 3 on n2 and rank 4 on n2". Of more than 8 ranks, the others become "and 7 more".
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

// A step in which ranks wait for each other. Each message carries one of `words`.
class Gathering final : public Operation {
 public:
  Gathering(std::string what, std::size_t messages, std::uint64_t word = 0)
      : words(messages, word), what_(std::move(what)) {}
  std::vector<std::uint64_t> words;

 private:
  [[nodiscard]] std::string text() const override { return what_; }
  std::string what_;
};

// FNV-1a, which gives the same value on every host.
std::uint64_t hash(const std::vector<int>& ranks) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const int rank : ranks)
    for (int byte = 0; byte < 4; ++byte)
      value = (value ^ ((static_cast<std::uint32_t>(rank) >> (8 * byte)) & 0xff)) * 0x100000001b3;
  return value;
}

}  // namespace

std::shared_ptr<Group> Progress::adopt(Comm comm, std::vector<int> world_ranks) {
  const auto free = [this](Group* group) {
    if (is_forked_child()) return;
    const auto guard = lock(Clock::now() + kFindOut);
    if (!guard) return;  // a thread is stuck in MPI, so the process exits soon and frees everything
    groups_.erase(group->id);
    for (Kept& kept : kept_[hash(group->world_ranks)])
      if (kept.group == group->id) kept.dropped = true;
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
  kept_[members].push_back({.group = group->id, .comm = comm});
  return group;
}

// Returns one bit per communicator of these members, with the oldest in bit 0. A bit is set if this
// rank has dropped the communicator's group.
std::uint64_t Progress::dropped_locked(std::uint64_t members) {
  const std::vector<Kept>& kept = kept_[members];
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min(kept.size(), kWordBits); ++i)
    if (kept[i].dropped) bits |= std::uint64_t{1} << i;
  return bits;
}

void Progress::free_locked(std::uint64_t members, std::uint64_t dropped) {
  std::vector<Kept>& kept = kept_[members];
  const std::vector<Kept> before = std::exchange(kept, {});
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool free = i < kWordBits && (dropped >> i & 1) != 0;
    Comm comm = before[i].comm;
    if (free)
      static_cast<void>(library_->free(comm));
    else
      kept.push_back(before[i]);
  }
}

// All members report to the first of them, which releases them once everyone has reported. Without
// this, an early rank would block inside MPI, where it cannot answer questions, while others are
// still far behind. The members also agree on the communicators to free, namely those whose group
// all of them have dropped. Their bits are returned.
std::uint64_t Progress::meet(const std::vector<int>& members, milliseconds timeout) {
  std::uint64_t dropped = 0;
  if (const auto guard = lock(Clock::now() + timeout)) dropped = dropped_locked(hash(members));
  const int tag = kMeeting + static_cast<int>(hash(members) % kMeetings);
  const bool leads = world_->rank == members.front();
  std::vector<int> others;
  for (const int rank : members)
    if (rank != world_->rank) others.push_back(rank);
  if (others.empty()) return dropped;
  std::vector<int> partners = leads ? others : std::vector{members.front()};
  for (const bool leaving : {false, true}) {
    const auto step = std::make_shared<Gathering>("a group of " + list(members, hosts_),
                                                  partners.size(), dropped);
    submit(
        step,
        {.group = world_, .timeout = timeout, .collective = false, .peers = others, .wait = true},
        [&](Library& library, Comm /*world*/, std::vector<Request>& requests) {
          int error = 0;
          for (std::size_t i = 0; i < partners.size() && error == 0; ++i) {
            std::uint64_t* word = &step->words[i];
            error = leads == leaving ? library.isend(word, sizeof(*word), partners[i], tag,
                                                     control_, requests.emplace_back())
                                     : library.ireceive(word, sizeof(*word), partners[i], tag,
                                                        control_, requests.emplace_back());
          }
          return error;
        });
    if (step->error()) std::rethrow_exception(step->error());
    for (const std::uint64_t word : step->words) dropped &= word;
  }
  return dropped;
}

std::shared_ptr<Group> Progress::subgroup(const Group& parent, const std::vector<int>& ranks,
                                          milliseconds timeout) {
  timeout = std::min<milliseconds>(timeout, kLongest);
  std::vector<int> members;
  members.reserve(ranks.size());
  for (const int rank : ranks)
    members.push_back(parent.world_ranks[static_cast<std::size_t>(rank)]);
  const std::uint64_t dropped = meet(members, timeout);
  // MPI may still block, so another thread calls it and this one can give up.
  auto made = std::make_shared<std::promise<std::shared_ptr<Group>>>();
  auto result = made->get_future();
  const int tag = static_cast<int>(hash(members) % kMeetings);
  std::thread maker([this, made, tag, ranks, members, timeout, dropped, comm = parent.comm] {
    try {
      const auto guard = lock(Clock::now() + timeout);
      if (!guard || is_broken())
        throw std::runtime_error(
            "MPI: cannot create a group: " +
            (guard && !why_broken_.empty() ? why_broken_ : "another thread is stuck in MPI"));
      free_locked(hash(members), dropped);
      Comm child;
      check(library_->subgroup(comm, ranks, tag, child), "cannot create a group");
      made->set_value(adopt(child, members));
    } catch (...) {
      made->set_exception(std::current_exception());
    }
  });
  if (result.wait_for(timeout) != std::future_status::ready) {
    broken_ = true;
    stuck_.push_back(std::move(maker));
    throw std::runtime_error("MPI: " + list(members, hosts_) +
                             " did not all create their group within " + seconds(timeout));
  }
  maker.join();
  return result.get();
}

bool Progress::part(milliseconds patience) {
  constexpr int kSilences = 3;  // a single silence can be an accident
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

// Sends the last message to the other ranks. It keeps them from reporting this rank as dead.
void Progress::say_last_words_locked(const Operation& culprit) {
  for (const int rank : peers_of(culprit))
    tell_locked(rank, kAnswer, culprit.group_->id, culprit.sequence_, kGivesUp);
}

void Progress::tell_locked(int world_rank, int tag, std::uint64_t group, std::uint64_t sequence,
                           std::uint64_t posted) {
  Told told{.request = {}, .words = std::make_unique<std::uint64_t[]>(kWords)};
  told.words[0] = group;
  told.words[1] = sequence;
  told.words[2] = posted;
  // If the message cannot be sent, the other side counts as one that does not answer.
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
    // Read at most as many messages as the other ranks can have sent at once.
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
            " not answer (stopped, ended or disconnected)";
  if (!behind.empty())
    text += std::string(silent.empty() ? ": " : "; ") + list(behind, hosts_) +
            (behind.size() == 1 ? " has" : " have") + " not called this operation";
  if (!left.empty())
    text += std::string(silent.empty() && behind.empty() ? ": " : "; ") + list(left, hosts_) +
            (left.size() == 1 ? " has" : " have") + " already given up";
  if (silent.empty() && behind.empty() && left.empty())
    text += operation.collective_ ? ": all ranks answer and have called a collective, so the "
                                    "network is slow or the ranks called different operations"
                                  : ": " + list(peers_of(operation), hosts_) +
                                        (peers_of(operation).size() == 1
                                             ? " answers, but its message never arrived"
                                             : " answer, but not all of their messages arrived");
  return text;
}

}  // namespace muster::mpi
