// The pod in which muster runs. A job of Kubernetes or RunAI tells each of its pods how many pods
// there are and which number it has. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace muster::hosts {

using Environment = std::map<std::string, std::string>;

struct Pod {
  int count = 0;  // number of pods in the job
  int rank = 0;   // number of this pod, from 0
  std::string master_address;
  int master_port = 0;
  std::optional<int> ranks_per_pod = std::nullopt;
  // What decides the number of ranks: "auto", "cpu", "gpu"; empty: unknown.
  std::string ranks_by = {};
  std::string told_by = {};  // the variable that gives the count: "WORLD_SIZE", "PET_NNODES"

  friend bool operator==(const Pod&, const Pod&) = default;
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, where RANK and WORLD_SIZE count pods, or
// torchrun's PET_NODE_RANK, PET_NNODES, PET_MASTER_ADDR, PET_MASTER_PORT and PET_NPROC_PER_NODE. If
// both are set they must agree. (They also agree if WORLD_SIZE counts processes, as in Kubeflow
// when it sets PET_NPROC_PER_NODE.) Returns nothing if number and count of pods are not set, if
// LOCAL_RANK or a launcher's variables show that this process is a rank already, and inside a Slurm
// job.
[[nodiscard]] Result<std::optional<Pod>> read_pod(const Environment& environment);

// What the user requested. 0 or nothing: the user did not request it.
struct PodRequest {
  int pods = 0;                            // --nnodes
  int ranks = 0;                           // -n
  int ranks_per_pod = 0;                   // --nproc-per-node
  std::optional<int> rank = std::nullopt;  // --node-rank
};

// Returns the number of ranks in each pod; 0 if nobody gave a number. If the request contradicts
// the pod or itself, the Error names both numbers and where they come from.
[[nodiscard]] Result<int> ranks_on_each(const Pod& pod, const PodRequest& request);

}  // namespace muster::hosts
