// What the launcher decided for one host of a run. The launcher sends it to the host's agent, which
// writes it into the run's folder for the ranks to read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::agent {

struct Assignment {
  std::string interface = {};  // the host's interface in the job's subnet; empty: unknown
  // Environment variables that choose the host's RDMA ports (its rails); empty: no RDMA.
  std::map<std::string, std::string> variables = {};
  int host_rank = 0;
  int host_count = 1;
  int first_rank = 0;  // the lowest rank on this host
  int ranks = 0;       // how many ranks this host has; 0: unknown
  int all_ranks = 0;
  bool bind_to_gpu = false;  // run each rank on the CPUs near its GPU
  // The GPUs of this host, if `bind_to_gpu` is set or if a GPU has MIG devices; otherwise empty.
  std::vector<facts::Gpu> gpus = {};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

[[nodiscard]] std::string to_json(const Assignment& placement);
[[nodiscard]] std::optional<Assignment> parse_placement(const std::string& json);

}  // namespace muster::agent
