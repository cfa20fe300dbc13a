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

/// The backend that Job::group would take.
struct GroupChoice {
  std::string backend;  ///< "gloo", "mpi" or "nccl".
  std::string why;      ///< The reason, in one line.
};

/// This process and its job. All numbers are counted from 0.
struct Job {
  int rank = 0;                    ///< Rank of this process.
  int size = 1;                    ///< World size.
  int local_rank = 0;              ///< Number of this process among the ranks of its host.
  int local_size = 1;              ///< Number of ranks on this host.
  std::optional<int> host_rank;    ///< Number of this host. Some launchers do not tell it.
  std::optional<int> host_count;   ///< Number of hosts. Some launchers do not tell it.
  std::optional<Endpoint> master;  ///< The job's store: MASTER_ADDR and MASTER_PORT.
  std::string told_by;             ///< "Open MPI", "torchrun", ...; empty without a launcher.
  bool mpi_launcher = false;       ///< An MPI launcher started this process.
  bool agent_store = false;        ///< torchrun's agent serves the store; otherwise rank 0 does.
  int attempt = 0;                 ///< How often the job was started again.

  /// The job in one line for people: "rank 3 of 6, 2nd of 2 on this host, 3 hosts, according to
  /// Open MPI; master 198.18.0.1:29500".
  [[nodiscard]] MUSTER_API std::string describe() const;

  /// The backend that group() would take. "auto" chooses NCCL if PyTorch has it and there is a CUDA
  /// device, otherwise MPI if an MPI launcher started this process and an MPI library is found,
  /// otherwise Gloo. Throws std::invalid_argument if the backend does not exist.
  [[nodiscard]] MUSTER_API GroupChoice group_choice(const std::string& backend = "auto") const;

  /// Connects all ranks of the job and returns their process group. Every rank must call it, in the
  /// same order if there are several groups. Throws std::runtime_error that says what is missing
  /// and what to do, and names ranks that did not arrive in time.
  [[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::ProcessGroup> group(
      const std::string& backend = "auto", const GroupOptions& options = {}) const;
};

/// Reads the environment that the launcher gave this process: `muster run`, torchrun, Open MPI,
/// MPICH, Intel MPI, Slurm, or Kubernetes. Without a launcher, the process is the only rank. Opens
/// no connection. Throws std::runtime_error if variables contradict each other.
[[nodiscard]] MUSTER_API Job join();

}  // namespace muster
