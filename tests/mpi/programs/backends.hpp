// Backends to try, the same way for MPI and for Gloo.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace tests {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

// All ranks: "mpi" as MPI numbers them, "gloo" as muster::join() says.
BackendPtr world(const std::string& name, std::chrono::milliseconds timeout);

// The world, and of its subsets those that this rank is in: even or odd ranks, all but the first,
// this rank alone, and all of them backwards.
std::vector<std::pair<std::string, BackendPtr>> groups(const std::string& name,
                                                       const BackendPtr& world);

}  // namespace tests
