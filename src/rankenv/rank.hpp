// Who a process is in its job, out of the variables of whichever launcher started it. Pure; shared
// by the rank shim and by the training library.
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
  // Which host, and of how many. Open MPI and hydra do not tell: they are then taken to have put
  // equally many consecutive ranks on every host, and where this rank does not fit that, neither is
  // known.
  std::optional<int> host_rank = std::nullopt;
  std::optional<int> host_count = std::nullopt;
  std::string told_by = {};  // "Open MPI", "PMI", "Slurm", ...; empty: nobody, alone
  // An agent of torchrun's started it: torch's variables are set, but for the rank's final number,
  // and the agent may serve the store.
  bool under_agent = false;

  friend bool operator==(const Rank&, const Rank&) = default;
};

// Refuses what is no number, what is out of range, and two launchers that contradict each other.
// The innermost wins where one is known to start the other: torchrun over all, MPI over Slurm.
// RANK and the like by themselves count only when no launcher tells, since they may be left over.
// Alone: rank 0 of 1.
[[nodiscard]] Result<Rank> read(const Environment& environment);

// Whether the MPI of the process would find its peers. srun --mpi=pmix tells the rank in PMIX_RANK;
// without PMI a Slurm step is no MPI job.
[[nodiscard]] bool is_mpi_job(const Rank& rank, const Environment& environment);

// What torch and others look for: RANK, LOCAL_RANK, WORLD_SIZE, ... No value: the variable must not
// be set, what is there is somebody else's. `run_id` may be empty.
[[nodiscard]] std::map<std::string, std::optional<std::string>> variables(
    const Rank& rank, const std::string& run_id);

}  // namespace muster::rankenv
