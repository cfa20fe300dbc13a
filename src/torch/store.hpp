// The store of the job, in which its ranks find each other.
#pragma once

#include <chrono>
#include <exception>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "muster/job.hpp"

namespace muster {

// For one group: one store a process, a part of its own a group. Rank 0 serves it at the master
// address unless torchrun's agent does; alone, it is in memory. Throws std::runtime_error.
[[nodiscard]] c10::intrusive_ptr<c10d::Store> store_of(const Job& job, const std::string& group,
                                                       std::chrono::milliseconds timeout);

// Rank by rank: each says that it is here; whoever waited in vain asks who is not. "rank 1" or
// "ranks 1, 2, 5"; empty: all came, or the store does not answer.
void say_here(c10d::Store& store, int rank);
[[nodiscard]] std::string who_is_missing(c10d::Store& store, int size);

// What torch says, without the stack of the place that said it.
[[nodiscard]] std::string reason(const std::exception& error);

}  // namespace muster
