/// @file
/// The rank of this process, and the process group of its job.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/api.hpp"

/// Distributed training with PyTorch.
namespace muster {

/// Where a server listens.
struct Endpoint {
  std::string address;  ///< An address or a name.
  int port = 0;         ///< A TCP port.
};

/// Options of Job::group.
struct GroupOptions {
  /// How long ranks wait for each other in Job::group, and how long each collective may take.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  /// With MPI: copies CUDA tensors through the host's memory if the MPI is not CUDA-aware.
  bool stage_cuda = false;
};

/// The backend that Job::group would use.
struct GroupChoice {
  std::string backend;  ///< "gloo", "mpi" or "nccl".
  std::string why;      ///< The reason, in one line.
};

/// This process and its job. Ranks and hosts are numbered from 0.
struct Job {
  int rank = 0;                    ///< Rank of this process.
  int size = 1;                    ///< World size.
  int local_rank = 0;              ///< Number of this process among the ranks of its host.
  int local_size = 1;              ///< Number of ranks on this host.
  std::optional<int> host_rank;    ///< Number of this host, if the launcher provides it.
  std::optional<int> host_count;   ///< Number of hosts, if the launcher provides it.
  std::optional<Endpoint> master;  ///< MASTER_ADDR and MASTER_PORT: the job's store.
  std::string told_by;             ///< The launcher, such as "torchrun"; "" if none.
  bool mpi_launcher = false;       ///< Whether an MPI launcher started this process.
  /// Whether torchrun's agent serves the store. If false, rank 0 serves it.
  bool agent_store = false;
  int attempt = 0;  ///< How often the job has been restarted.

  /// Describes the job in one line for people: "rank 3 of 6, 2nd of 2 on this host, 3 hosts,
  /// according to Open MPI; master 198.18.0.1:29500".
  [[nodiscard]] MUSTER_API std::string describe() const;

  /// Returns the backend that group() would use. "auto" chooses NCCL if PyTorch has it and there is
  /// a CUDA device, otherwise MPI if an MPI launcher started this process and an MPI library is
  /// found, otherwise Gloo. Throws std::invalid_argument if `backend` is none of "auto", "gloo",
  /// "mpi" and "nccl".
  [[nodiscard]] MUSTER_API GroupChoice group_choice(const std::string& backend = "auto") const;

  /// Connects all ranks of the job and returns their process group. Every rank must call it. A
  /// program that makes several groups must make them in the same order on all ranks. Throws
  /// std::runtime_error, which says what is missing and what to do, and names the ranks that did
  /// not arrive in time.
  [[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::ProcessGroup> group(
      const std::string& backend = "auto", const GroupOptions& options = {}) const;
};

/// Reads the environment that the launcher gave this process: `muster run`, torchrun, Open MPI,
/// MPICH, Intel MPI, Slurm, or Kubernetes. Without a launcher, the process is the only rank. Opens
/// no network connection. If MUSTER_RECORDERS is set, starts to serve this process's record of
/// collectives to `muster why`. Throws std::runtime_error if variables contradict each other.
[[nodiscard]] MUSTER_API Job join();

}  // namespace muster
