// Drives MPI's operations to their end: who waits polls, and a thread of its own polls, politely,
// what nobody waits for. Every operation has a deadline; when it passes, the ranks that are missing
// are found out and named, and nothing more is begun: the process then leaves without MPI_Finalize.
// Knows nothing of PyTorch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mpi/library.hpp"

namespace muster::mpi {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Ranks that communicate with each other. `posted` and what is behind `comm` belong to Progress.
struct Group {
  Comm comm;
  std::uint64_t id = 0;  // the same on all members
  int rank = 0;
  std::vector<int> world_ranks;
  std::atomic<std::uint64_t> posted = 0;  // collectives begun here
  int highest_tag = 0;

  [[nodiscard]] int size() const { return static_cast<int>(world_ranks.size()); }
};

class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  [[nodiscard]] bool is_done() const { return done_.load(std::memory_order_acquire); }
  // Null: it went well. Only when done.
  [[nodiscard]] std::exception_ptr error() const { return error_; }
  // Who sent what was received, in the group's numbering. Only when done.
  [[nodiscard]] int source() const { return source_; }

 protected:
  // "all_reduce of 1024 float32"
  [[nodiscard]] virtual std::string text() const = 0;
  // What waiting for it throws.
  [[nodiscard]] virtual std::exception_ptr failure(const std::string& what) const {
    return std::make_exception_ptr(std::runtime_error(what));
  }
  // Right before MPI is given it. `number`: of a collective, in its group, from 1; else of a
  // message. Other operations wait meanwhile.
  virtual void begun(std::uint64_t /*number*/, bool /*collective*/) {}
  // MPI's part is over: puts results into their place. May throw. On any thread.
  virtual void finish() {}
  // Once, after everything; error() is known.
  virtual void ended() {}

 private:
  friend class Progress;

  std::shared_ptr<Group> group_;
  std::vector<Request> requests_;
  std::uint64_t sequence_ = 0;
  bool collective_ = true;
  std::vector<int> peers_;  // whose part it needs, in the group's numbering; empty: everybody's
  milliseconds timeout_{};
  Clock::time_point ask_at_;
  Clock::time_point deadline_;
  // After which even a lock that nobody gives back is no reason to wait. Moves with deadline_.
  std::atomic<Clock::time_point> limit_{};
  bool pending_ = false;
  bool failing_ = false;
  bool asked_ = false;
  std::map<int, std::uint64_t> answers_;  // by world rank: how many collectives it has begun
  std::string mpi_error_;                 // not empty: failed, and it is being found out why
  int source_ = -1;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

struct Submission {
  std::shared_ptr<Group> group;
  milliseconds timeout;
  bool collective = true;
  std::vector<int> peers = {};
  bool wait = false;  // drive it to its end at once, on this thread
};

// Something that begins the requests of an operation and returns an error code of MPI's or 0.
// Refers to it only, for as long as the call takes that it is passed to.
class Post {
 public:
  template <class Callable>
  Post(const Callable& callable)  // NOLINT(google-explicit-constructor)
      : callable_(&callable),
        call_([](const void* it, Library& library, Comm comm, std::vector<Request>& requests) {
          return (*static_cast<const Callable*>(it))(library, comm, requests);
        }) {}
  int operator()(Library& library, Comm comm, std::vector<Request>& requests) const {
    return call_(callable_, library, comm, requests);
  }

 private:
  const void* callable_;
  int (*call_)(const void*, Library&, Comm, std::vector<Request>&);
};

// Whether this process was forked from one with a Progress: its copy of MPI's state is of no use.
[[nodiscard]] bool is_forked_child();

class Progress {
 public:
  // MPI is initialised. `host` is this rank's name in messages. Collective.
  Progress(std::unique_ptr<Library> library, const std::string& host);
  // What is pending stays so. Waits for threads that are stuck in MPI: a process that has to leave
  // never destroys it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] Library& library() { return *library_; }
  [[nodiscard]] const std::shared_ptr<Group>& world() const { return world_; }
  // The members call it, in one order. `ranks` in the parent's numbering; this rank is among them.
  [[nodiscard]] std::shared_ptr<Group> subgroup(const Group& parent, const std::vector<int>& ranks,
                                                milliseconds timeout);

  // Throws when nothing can be begun any more.
  void submit(const std::shared_ptr<Operation>& operation, const Submission& how, Post post);
  // Until it is done, or the time is over: false. Zero: no limit but the operation's own. Throws
  // when another thread is stuck in MPI.
  bool wait(Operation& operation, milliseconds timeout = milliseconds(0));

  // All that is pending, and all that comes, fails with this.
  void abort(const std::string& why);
  [[nodiscard]] bool is_broken() const { return broken_.load(); }
  // Nothing is pending, and what follows the operations is over too. False: the time is over.
  bool drain(milliseconds timeout);
  // Every rank has come to its end; false: some have left without a word, and MPI_Finalize would
  // wait for them. As long as they answer, they are waited for.
  bool part(milliseconds patience = milliseconds(2000));
  // No more answers to other ranks. Then MPI may be finalised.
  void stop();

 private:
  static constexpr milliseconds kFindOut{2000};            // for answers after an error of MPI's
  static constexpr std::chrono::hours kLongest{24 * 365};  // can still be added to a time

  using Operations = std::vector<std::shared_ptr<Operation>>;

  // The threads of the backend: one polls, the others stand by for when that one runs somebody's
  // code, which may wait for an operation itself.
  void run();
  Operations poll_until_something_ends();
  void need_poller_locked();
  void wake();
  [[nodiscard]] std::unique_lock<std::mutex> lock(Clock::time_point until);
  bool poll(Operation* first);
  void poll_locked(Operation* first, Clock::time_point now, Operations& over);
  bool test_locked(Operation& operation);
  bool is_hopeless_locked(Operation& operation, Clock::time_point now);
  void fail_all_locked(Operation& culprit, Operations& over);
  void give_up_locked(const Operation* culprit, Operations& over);
  void remove_locked(const Operation& operation, Operations& over);
  void complete(Operations& over);

  void check(int error, const std::string& what) const;
  [[nodiscard]] std::uint64_t meet(const std::vector<int>& members, milliseconds timeout);
  [[nodiscard]] std::uint64_t dropped_locked(std::uint64_t members);
  void free_locked(std::uint64_t members, std::uint64_t dropped);

  // What other ranks are asked and told when something takes long.
  void ask_locked(Operation& operation);
  void talk_locked(Clock::time_point now);
  void tell_locked(int world_rank, int tag, std::uint64_t group, std::uint64_t sequence,
                   std::uint64_t posted);
  void answered_locked(int world_rank, std::uint64_t group, std::uint64_t sequence,
                       std::uint64_t posted);
  [[nodiscard]] std::string diagnosis_locked(const Operation& operation) const;
  [[nodiscard]] std::vector<int> peers_of(const Operation& operation) const;

  void say_last_words_locked(const Operation& culprit);
  std::shared_ptr<Group> adopt(Comm comm, std::vector<int> world_ranks);

  std::unique_ptr<Library> library_;
  std::vector<std::string> hosts_;  // by world rank
  int spins_ = 0;                   // polls of a waiting thread before it lets others run

  // Guards every call into MPI and what follows. Never held while somebody's code runs.
  std::mutex mutex_;
  std::shared_ptr<Group> world_;
  Comm control_;
  std::map<std::uint64_t, Group*> groups_;              // those that live, by id
  std::map<std::uint64_t, std::uint64_t> groups_made_;  // of the same members
  // MPI_Comm_free is collective, but each rank drops a group when its own last operation ends. So
  // a dropped group's communicator is kept until its members meet to make their next group; then
  // all of them free the same ones, in the order of their making. MPI_Finalize frees the rest.
  struct Kept {
    std::uint64_t group = 0;  // its id
    Comm comm;
    bool dropped = false;
  };
  std::map<std::uint64_t, std::vector<Kept>> kept_;  // by the hash of their members; oldest first
  Operations pending_;
  Operations abandoned_;     // MPI may still use their memory
  std::set<int> have_left_;  // world ranks that said that they give up
  std::size_t next_ = 0;     // where the next look at pending_ begins
  std::uint64_t messages_ = 0;
  Clock::time_point next_talk_;
  struct Told {
    Request request;
    std::unique_ptr<std::uint64_t[]> words;
  };
  std::vector<Told> told_;
  std::string why_broken_;

  std::atomic<bool> broken_ = false;
  std::atomic<std::size_t> pending_count_ = 0;
  // MPI's part is over, but a thread still runs what follows, which may be Python's.
  std::atomic<std::size_t> ending_count_ = 0;
  std::atomic<int> waiting_ = 0;  // threads that poll by themselves

  std::mutex sleep_;
  std::condition_variable wake_;
  std::condition_variable role_;
  bool woken_ = false;
  bool polling_ = false;  // one of the threads does
  int standing_by_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
  std::vector<std::thread> stuck_;  // in MPI, making a group
};

}  // namespace muster::mpi
