// The store of the job, through which its ranks find each other.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "muster/job.hpp"
#include "torch/membership.hpp"

namespace muster {

struct GroupStore {
  std::string group;                        // prefix of the names in this group's part of the store
  c10::intrusive_ptr<c10d::Store> open;     // anyone who reaches the port can write to it
  c10::intrusive_ptr<c10d::Store> trusted;  // the same, but protected if the job has a key
  c10::intrusive_ptr<SignedStore> guard;    // protects `trusted`; null if the job has no key
};

// Returns this group's part of the job's store, to which each process connects only once. Rank 0
// serves the store at the master address unless torchrun's agent does. A job with a single rank
// keeps it in memory. Throws std::runtime_error.
[[nodiscard]] GroupStore store_of(const Job& job, const std::string& group,
                                  std::chrono::milliseconds timeout);

// Each rank reports its arrival with say_here. A rank that has waited in vain calls who_is_missing,
// which returns "rank 1" or "ranks 1, 2, 5", "" if all ranks have arrived, and nothing if the store
// does not answer.
void say_here(c10d::Store& store, int rank);
[[nodiscard]] std::optional<std::string> who_is_missing(c10d::Store& store, int size);

// A rank that has the answer of who_is_missing calls say_told. The process that serves the store
// calls wait_until_told before it ends, which waits until all arrived ranks have called say_told:
// afterwards, there is no store left to ask.
void say_told(c10d::Store& store, int rank) noexcept;
void wait_until_told(c10d::Store& store, int size, std::chrono::milliseconds at_most) noexcept;

// The error about ranks that never arrived. `ranks` is the answer of who_is_missing.
[[nodiscard]] std::runtime_error never_joined(const std::string& ranks, const std::string& why);

// The message of a torch exception without its backtrace.
[[nodiscard]] std::string reason(const std::exception& error);

}  // namespace muster
