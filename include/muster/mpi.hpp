/// @file
/// An MPI backend for PyTorch's process groups. It needs no PyTorch that was built with MPI.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/api.hpp"

/// The MPI backend.
namespace muster::mpi {

/// Settings of backend().
struct Options {
  /// How long a collective may take before it fails and names the missing ranks.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  /// Copies CUDA tensors through the host's memory if the MPI is not CUDA-aware.
  bool stage_cuda = false;
};

/// All ranks of this MPI job, numbered as in MPI. Loads an MPI library and initialises it, unless
/// the program has done so. If muster initialised MPI and no collective failed, it finalises MPI
/// when the process ends. Every rank must call it. Throws std::runtime_error that lists what was
/// tried if no MPI library can be used.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const Options& options = {});

/// Some of these ranks, numbered in the given order. All members must call it; ranks that are
/// members of several groups call it in the same order. Returns null on ranks that are not members.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const std::vector<int>& ranks,
                                                                   const Options& options = {});

/// The result of find().
struct Found {
  bool usable = false;  ///< Whether backend() would find an MPI library.
  std::string text;     ///< The library, or why there is none, in one sentence.
};
/// Looks for an MPI library and loads it, without initialising MPI.
[[nodiscard]] MUSTER_API Found find();

}  // namespace muster::mpi
