// Who this process is in its job, and the group of all its processes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/api.hpp"

namespace muster {

struct Endpoint {
  std::string address;  // or a name
  int port = 0;
};

struct GroupOptions {
  // How long the ranks wait for each other here, and then how long each operation may take.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  // Over MPI: copy CUDA tensors through the host's memory where the MPI cannot read the device's.
  bool stage_cuda = false;
};

struct GroupChoice {
  std::string backend;  // "gloo", "mpi" or "nccl"
  std::string why;      // one line
};

struct Job {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // on its host
  int local_size = 1;
  std::optional<int> host_rank;    // which host; not known under every launcher
  std::optional<int> host_count;   // likewise
  std::optional<Endpoint> master;  // where the store of the job is: MASTER_ADDR and MASTER_PORT
  std::string told_by;             // "Open MPI", "PMI", "Slurm", "torchrun", ...; empty: nobody
  bool mpi_launcher = false;       // the MPI of this process would find its peers
  bool agent_store = false;        // torchrun's agent serves the store, not rank 0
  int attempt = 0;                 // how often torchrun has started the job again

  // "rank 3 of 6, 2nd of 2 on this host, 3 hosts, according to Open MPI; master 198.18.0.1:29500"
  [[nodiscard]] MUSTER_API std::string describe() const;

  // What `group` would take. "auto": NCCL where PyTorch has it and there is a device; else MPI
  // where an MPI launcher started us and an MPI library is found; else Gloo. Throws
  // std::invalid_argument for a backend that there is not.
  [[nodiscard]] MUSTER_API GroupChoice group_choice(const std::string& backend = "auto") const;

  // All ranks of the job, connected and ready for collectives. Collective: every rank calls it, in
  // the same order where there are several groups. Throws std::runtime_error that says what is
  // missing and what to do; ranks that did not come within the time-out are named.
  [[nodiscard]] MUSTER_API c10::intrusive_ptr<c10d::ProcessGroup> group(
      const std::string& backend = "auto", const GroupOptions& options = {}) const;
};

// From the environment that any launcher gave this process (the rank shim of `muster run`,
// torchrun, Open MPI, MPICH, Intel MPI, Slurm, pods), or alone. Throws std::runtime_error where it
// contradicts itself. Connects to nobody.
[[nodiscard]] MUSTER_API Job join();

}  // namespace muster
