// The pod that we are in: a job of Kubernetes or RunAI tells each of its pods how many there are
// and which it is. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace muster::hosts {

using Environment = std::map<std::string, std::string>;

struct Pod {
  int count = 0;  // of pods
  int rank = 0;   // of this pod, from 0
  std::string master_address;
  int master_port = 0;
  std::optional<int> ranks_per_pod = std::nullopt;
  std::string ranks_by = {};  // or what they follow: "auto", "cpu", "gpu"; empty: nobody said
  std::string told_by = {};   // the variable that told the count: "WORLD_SIZE", "PET_NNODES"

  friend bool operator==(const Pod&, const Pod&) = default;
};

// From RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, where RANK and WORLD_SIZE count pods, or from
// torchrun's PET_NODE_RANK, PET_NNODES, PET_MASTER_ADDR, PET_MASTER_PORT and PET_NPROC_PER_NODE;
// both may be set and then must agree. (With PET_NPROC_PER_NODE, Kubeflow's WORLD_SIZE counts
// processes; that is agreement too.) Nothing where the two are not set, where LOCAL_RANK or a
// launcher's own variables say that this is a rank already, and in a Slurm job.
[[nodiscard]] Result<std::optional<Pod>> read_pod(const Environment& environment);

// What the user asked for; 0, empty: nothing.
struct PodRequest {
  int pods = 0;                            // --nnodes
  int ranks = 0;                           // -n
  int ranks_per_pod = 0;                   // --nproc-per-node
  std::optional<int> rank = std::nullopt;  // --node-rank
};

// Ranks on each pod, 0 where nobody said a number. An Error names both numbers and who said them
// where the request contradicts the pod or itself.
[[nodiscard]] Result<int> ranks_on_each(const Pod& pod, const PodRequest& request);

}  // namespace muster::hosts
