// Reads a process's rank and world size from the variables of whichever launcher started it. Pure.
// Shared by the rank shim and the training library.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace muster::rankenv {

using Environment = std::map<std::string, std::string>;

struct Rank {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // on its host
  int local_size = 1;
  // The index of this host and the number of hosts. Open MPI and hydra do not report them. For
  // those, muster assumes the same number of consecutive ranks on every host; if this rank does not
  // fit that assumption, both stay unknown.
  std::optional<int> host_rank = std::nullopt;
  std::optional<int> host_count = std::nullopt;
  // "Open MPI", "PMI", "Slurm", ...; empty if no launcher started this process.
  std::string told_by = {};
  // A torchrun agent started this process and has set torch's variables, although the rank may
  // still change. The agent may serve the store.
  bool under_agent = false;

  friend bool operator==(const Rank&, const Rank&) = default;
};

// Rejects values that are not numbers or out of range, and launchers that contradict each other.
// When one launcher is known to start the other, the inner one wins: torchrun over all others, MPI
// over Slurm. RANK and similar variables alone count only without any launcher, since they may be
// left over. With no variables at all, the result is rank 0 of 1.
[[nodiscard]] Result<Rank> read(const Environment& environment);

// Whether MPI in this process would find its peers. srun --mpi=pmix provides PMIX_RANK. A Slurm
// step without any PMI is not an MPI job.
[[nodiscard]] bool is_mpi_job(const Rank& rank, const Environment& environment);

// Returns the variables that torch and others read: RANK, LOCAL_RANK, WORLD_SIZE, ... Without a
// value, the variable must be unset, because its present value belongs to another job. `run_id` may
// be empty.
[[nodiscard]] std::map<std::string, std::optional<std::string>> variables(
    const Rank& rank, const std::string& run_id);

}  // namespace muster::rankenv
