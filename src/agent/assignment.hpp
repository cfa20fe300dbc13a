// What was decided for one host of a run: it travels to the host's agent, which writes it into the
// run's folder, where the ranks read it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::agent {

struct Assignment {
  std::string interface = {};                         // the one in the job's subnet; empty: unknown
  std::map<std::string, std::string> variables = {};  // about its rails; empty: no RDMA
  int host_rank = 0;
  int host_count = 1;
  int first_rank = 0;  // of this host's
  int ranks = 0;       // on this host; 0: not known
  int all_ranks = 0;
  bool bind_to_gpu = false;           // each rank runs on the CPUs near its GPU
  std::vector<facts::Gpu> gpus = {};  // of this host, if so or if a GPU is in MIG mode

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

[[nodiscard]] std::string to_json(const Assignment& placement);
[[nodiscard]] std::optional<Assignment> parse_placement(const std::string& json);

}  // namespace muster::agent
