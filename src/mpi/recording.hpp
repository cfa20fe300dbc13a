// What is recorded of the backend's operations, for `muster why`.
#pragma once

#include <memory>

#include "mpi/progress.hpp"
#include "recorder/operations.hpp"

namespace muster::mpi {

// Null where there are too many groups. The first one makes PyTorch's worker server, if one runs,
// answer requests for "muster_operations".
[[nodiscard]] std::shared_ptr<recorder::GroupRecord> new_record(const Group& group);

}  // namespace muster::mpi
