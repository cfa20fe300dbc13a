// Which ranks see the same files.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/job.hpp"

namespace muster {

// Names of the files with which ranks find out; what a crash left of them may be removed.
constexpr const char* kProbePrefix = "probe-";

// By rank: the lowest rank that sees the same folder; ranks of one host always do. Collective: the
// first rank of each host writes a file there, and all look. `mark` is the same on all ranks and
// new. Throws on all ranks what is wrong on any: no such folder, not writable, ...
[[nodiscard]] std::vector<int> find_folder_mates(const Job& job, c10d::ProcessGroup& group,
                                                 const std::string& folder,
                                                 const std::string& mark);

}  // namespace muster
