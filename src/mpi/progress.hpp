// Drives MPI operations to completion. A thread that waits for an operation polls MPI itself, and a
// background thread polls, with pauses, what nobody waits for. Every operation has a deadline. When
// it passes, Progress names the missing ranks and begins no more operations, and the process will
// exit without MPI_Finalize. This code does not depend on PyTorch.
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

// Ranks that communicate with each other. Only Progress changes `posted` and frees the communicator
// behind `comm`.
struct Group {
  Comm comm;
  std::uint64_t id = 0;  // the same on all members
  int rank = 0;
  std::vector<int> world_ranks;
  std::atomic<std::uint64_t> posted = 0;  // collectives begun on this rank
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
  // Null on success. Valid only when done.
  [[nodiscard]] std::exception_ptr error() const { return error_; }
  // The sender of a received message, as a rank of the group. Valid only when done.
  [[nodiscard]] int source() const { return source_; }

 protected:
  // Describes the operation in messages: "all_reduce of 1024 float32".
  [[nodiscard]] virtual std::string text() const = 0;
  // Returns the exception that a thread waiting for this operation gets.
  [[nodiscard]] virtual std::exception_ptr failure(const std::string& what) const {
    return std::make_exception_ptr(std::runtime_error(what));
  }
  // Called right before MPI gets the operation. `number` counts from 1: the collectives of the
  // group, or else the messages of all groups. No other operation begins meanwhile.
  virtual void begun(std::uint64_t /*number*/, bool /*collective*/) {}
  // Called on any thread when MPI is done and reported no error. Puts results into place. May
  // throw.
  virtual void finish() {}
  // Called once, last of all, when error() is known.
  virtual void ended() {}

 private:
  friend class Progress;

  std::shared_ptr<Group> group_;
  std::vector<Request> requests_;
  std::uint64_t sequence_ = 0;
  bool collective_ = true;
  std::vector<int> peers_;  // group ranks that must take part; empty: all
  milliseconds timeout_{};
  Clock::time_point ask_at_;
  Clock::time_point deadline_;
  // After this time, a waiting thread gives up even if it never got the lock, because whoever holds
  // the lock is stuck in MPI. Moves with deadline_.
  std::atomic<Clock::time_point> limit_{};
  bool pending_ = false;
  bool failing_ = false;
  bool asked_ = false;
  std::map<int, std::uint64_t> answers_;  // by world rank: how many collectives the rank has begun
  // MPI's text if it reported an error. The operation then stays pending until the other ranks have
  // had time to answer.
  std::string mpi_error_;
  int source_ = -1;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

struct Submission {
  std::shared_ptr<Group> group;
  milliseconds timeout;
  bool collective = true;
  std::vector<int> peers = {};
  bool wait = false;  // wait on this thread until the operation is done
};

// A function that begins the requests of an operation and returns 0 or an MPI error code. It holds
// only a reference, so it is valid only during the call that it is passed to.
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

// Whether this process was forked from one with a Progress. Its copy of MPI's state is unusable.
[[nodiscard]] bool is_forked_child();

class Progress {
 public:
  // MPI must be initialised. `host` names this rank's host in messages. Collective over all ranks.
  Progress(std::unique_ptr<Library> library, const std::string& host);
  // Leaves pending operations as they are. Waits for threads that are stuck in MPI, so a process
  // that must exit at once must not destroy its Progress.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] Library& library() { return *library_; }
  [[nodiscard]] const std::shared_ptr<Group>& world() const { return world_; }
  // All members of the new group must call this, in the same order. `ranks` are ranks of the parent
  // and include this one.
  [[nodiscard]] std::shared_ptr<Group> subgroup(const Group& parent, const std::vector<int>& ranks,
                                                milliseconds timeout);

  // Throws if the job is broken and no operation can begin any more.
  void submit(const std::shared_ptr<Operation>& operation, const Submission& how, Post post);
  // Waits until the operation is done; false if `timeout` passes first. Zero means that only the
  // operation's own deadline applies. Throws when another thread is stuck in MPI.
  bool wait(Operation& operation, milliseconds timeout = milliseconds(0));

  // Fails all pending and all later operations with this reason.
  void abort(const std::string& why);
  [[nodiscard]] bool is_broken() const { return broken_.load(); }
  // Waits until nothing is pending and all callbacks have returned; false on time-out.
  bool drain(milliseconds timeout);
  // Waits until every rank has called this, for as long as the others answer questions. Returns
  // false if MPI_Finalize would wait forever, for example because some ranks no longer answer.
  bool part(milliseconds patience = milliseconds(2000));
  // Stops answering other ranks. After that, MPI may be finalised.
  void stop();

 private:
  // How long to wait for the answers of other ranks, or for the lock, before giving up.
  static constexpr milliseconds kFindOut{2000};
  // A practically endless time that can still be added to a time point.
  static constexpr std::chrono::hours kLongest{24 * 365};

  using Operations = std::vector<std::shared_ptr<Operation>>;

  // What each of the backend's threads runs. One of them polls. While it runs a callback, which may
  // itself wait for an operation, another one takes over.
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

  // When an operation takes long, ranks ask each other for their progress.
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
  int spins_ = 0;                   // how often a waiting thread polls before it yields

  // Guards every call into MPI and the members below. Never held while a callback runs.
  std::mutex mutex_;
  std::shared_ptr<Group> world_;
  Comm control_;
  std::map<std::uint64_t, Group*> groups_;  // the living groups, by id
  // How many groups were made so far, by the hash of their members.
  std::map<std::uint64_t, std::uint64_t> groups_made_;
  // MPI_Comm_free is collective, but each rank drops a group at a different time, when its own last
  // operation ends. So the communicator of a dropped group is kept until its members meet to make
  // their next group. Then all of them free the same communicators in the same order, the oldest
  // first. MPI_Finalize frees the rest.
  struct Kept {
    std::uint64_t group = 0;  // the group's id
    Comm comm;
    bool dropped = false;
  };
  std::map<std::uint64_t, std::vector<Kept>> kept_;  // by the hash of their members; oldest first
  Operations pending_;
  Operations abandoned_;     // MPI may still use their memory
  std::set<int> have_left_;  // world ranks that announced that they give up
  std::size_t next_ = 0;     // where the next scan of pending_ begins
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
  // Operations that MPI has finished but whose callbacks, perhaps Python's, still run.
  std::atomic<std::size_t> ending_count_ = 0;
  std::atomic<int> waiting_ = 0;  // threads that poll while they wait

  std::mutex sleep_;
  std::condition_variable wake_;
  std::condition_variable role_;
  bool woken_ = false;
  bool polling_ = false;  // one of the threads is polling
  int standing_by_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
  std::vector<std::thread> stuck_;  // stuck in MPI while making a group
};

}  // namespace muster::mpi
