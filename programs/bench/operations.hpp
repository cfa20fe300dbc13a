// The operations: their names, what they move at a size, and what nccl-tests makes of the time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

[[nodiscard]] std::optional<Operation> operation_of(const std::string& name);
[[nodiscard]] const char* name_of(Operation operation);
[[nodiscard]] std::string operation_names();  // with commas

// From `min` to `max`, each `factor` times the one before and rounded down to whole elements, a
// multiple of the ranks where the operation deals them out; none twice, none without an element a
// rank. A barrier has one: 0.
[[nodiscard]] std::vector<std::int64_t> sizes_of(Operation operation, int ranks, std::int64_t min,
                                                 std::int64_t max, int factor);

// What a backend can take: MPI's own calls count elements in an int.
[[nodiscard]] std::int64_t most_bytes(const std::string& backend);

// `bytes` as nccl-tests counts them.
[[nodiscard]] Shape shape_of(Operation operation, int ranks, std::int64_t bytes);

// What the bandwidth is multiplied with for that of the network: it does not depend on the ranks.
[[nodiscard]] double bus_factor(Operation operation, int ranks);

}  // namespace muster::programs::bench
