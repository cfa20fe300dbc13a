// The store of the job, in which its ranks find each other.
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
  std::string group;                        // its part of the store
  c10::intrusive_ptr<c10d::Store> open;     // anybody who reaches the port can write to it
  c10::intrusive_ptr<c10d::Store> trusted;  // the same, but for ranks only if the job has a key
  c10::intrusive_ptr<SignedStore> guard;    // of what is trusted; null: the job has no key
};

// One store per process, with a separate part for each group. Rank 0 serves it at the master
// address unless torchrun's agent does; alone, it is in memory. Throws std::runtime_error.
[[nodiscard]] GroupStore store_of(const Job& job, const std::string& group,
                                  std::chrono::milliseconds timeout);

// Rank by rank: each says that it is here; whoever waited in vain asks who is not. "rank 1" or
// "ranks 1, 2, 5"; empty: all came; none: the store does not answer.
void say_here(c10d::Store& store, int rank);
[[nodiscard]] std::optional<std::string> who_is_missing(c10d::Store& store, int size);

// A rank that has asked says so. Whoever serves the store waits until all who are here have: when
// it goes, there is nobody to ask.
void say_told(c10d::Store& store, int rank) noexcept;
void wait_until_told(c10d::Store& store, int size, std::chrono::milliseconds at_most) noexcept;

// The error of ranks that were waited for in vain; `ranks`: as who_is_missing names them.
[[nodiscard]] std::runtime_error never_joined(const std::string& ranks, const std::string& why);

// What torch says, without the stack of the place that said it.
[[nodiscard]] std::string reason(const std::exception& error);

}  // namespace muster
