// Backends to test, with the same interface for MPI and Gloo.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace tests {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

// Returns a backend of all ranks. "mpi" numbers them as MPI does, "gloo" as muster::join() does.
BackendPtr world(const std::string& name, std::chrono::milliseconds timeout);

// Returns the world, and those of its subsets that contain this rank: even or odd ranks, all but
// the first, this rank alone, and all in reverse order.
std::vector<std::pair<std::string, BackendPtr>> groups(const std::string& name,
                                                       const BackendPtr& world);

}  // namespace tests
