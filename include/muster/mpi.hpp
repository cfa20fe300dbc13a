/// @file
/// An MPI backend for PyTorch's process groups. PyTorch itself need not be built with MPI.
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

/// Returns a backend for all ranks of this MPI job, numbered as in MPI_COMM_WORLD. Loads an MPI
/// library and initialises MPI, unless the program has done so. If muster initialised MPI and no
/// collective failed, it finalises MPI when the process ends. Every rank must call it. If no MPI
/// library can be used, throws std::runtime_error, which lists the libraries that were tried.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const Options& options = {});

/// Returns a backend for some ranks of this MPI job, or null on a rank that is not a member.
/// `ranks` has the members' ranks in MPI_COMM_WORLD; the backend numbers the members in this order.
/// All members must call it. Ranks that are members of several groups must create these in the same
/// order.
[[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::Backend> backend(const std::vector<int>& ranks,
                                                                   const Options& options = {});

/// The result of find().
struct Found {
  bool usable = false;  ///< Whether backend() would find an MPI library.
  /// The library's path, or which libraries were tried and why they failed, one per line.
  std::string text;
};
/// Looks for an MPI library and loads it, but does not initialise MPI.
[[nodiscard]] MUSTER_API Found find();

}  // namespace muster::mpi
