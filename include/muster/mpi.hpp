// MPI as a backend of c10d: what PyTorch calls ProcessGroupMPI, for any PyTorch and for every MPI.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/api.hpp"

namespace muster::mpi {

struct Options {
  // How long an operation may take before it fails, naming the ranks that are missing.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  // Copy CUDA tensors through the host's memory where the MPI cannot read the device's.
  bool stage_cuda = false;
};

// The ranks of this MPI job, as MPI numbers them. Loads an MPI library and initialises it unless
// the program has done so; at the end of the process MPI is finalised, if we initialised it and no
// operation failed. Collective. Throws when there is no MPI to be had: what was looked for, and
// where.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const Options& options = {});

// The same for some of those ranks, numbered in this order. The members call it, groups that share
// members in one order; for other ranks the result is null.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const std::vector<int>& ranks,
                                                                   const Options& options = {});

// Whether `backend` would find an MPI, and which or why not in a sentence. Loads the library, does
// not initialise it.
struct Found {
  bool usable = false;
  std::string text;
};
[[nodiscard]] MUSTER_API Found find();

}  // namespace muster::mpi
