// Records the backend's operations for `muster why`.
#pragma once

#include <memory>

#include "mpi/progress.hpp"
#include "recorder/operations.hpp"

namespace muster::mpi {

// Null when there are too many groups. The first call registers "muster_operations" with PyTorch's
// worker server, if one runs.
[[nodiscard]] std::shared_ptr<recorder::GroupRecord> new_record(const Group& group);

}  // namespace muster::mpi
