// Records the backend's operations for `muster why`.
#pragma once

#include <memory>

#include "mpi/progress.hpp"
#include "recorder/operations.hpp"

namespace muster::mpi {

// Returns null when there are too many groups, or if another copy of this code already records in
// this process. The first call registers the handler "muster_operations" for PyTorch's worker
// server.
[[nodiscard]] std::shared_ptr<recorder::GroupRecord> new_record(const Group& group);

}  // namespace muster::mpi
