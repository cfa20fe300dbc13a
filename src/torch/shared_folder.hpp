// Finds out which ranks see the same files.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/job.hpp"

namespace muster {

// The beginning of the probe files' names. Files that a crash left behind may be removed.
constexpr const char* kProbePrefix = "probe-";

// Collective. Returns, for each rank, the lowest rank that sees the same folder. To find out, the
// first rank of each host writes a probe file, and all ranks look for the probe files. Creates the
// folder if it is missing. `mark` must be new and the same on all ranks. An error on any rank, such
// as a read-only folder, or one that the ranks of a host do not share, is thrown on all.
[[nodiscard]] std::vector<int> find_folder_mates(const Job& job, c10d::ProcessGroup& group,
                                                 const std::string& folder,
                                                 const std::string& mark);

}  // namespace muster
