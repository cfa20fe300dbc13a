// The operations: names, sizes, and the bandwidth formulas of nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

[[nodiscard]] std::optional<Operation> operation_of(const std::string& name);
[[nodiscard]] const char* name_of(Operation operation);
[[nodiscard]] std::string operation_names();  // separated by commas

// The sizes from `min` to `max`, each `factor` times the previous one, rounded down to whole
// elements, and to a multiple of the rank count for operations that divide the data between ranks.
// Without duplicates, and with at least one element per rank. A barrier has a single size, 0.
[[nodiscard]] std::vector<std::int64_t> sizes_of(Operation operation, int ranks, std::int64_t min,
                                                 std::int64_t max, int factor);

// The most bytes that a backend accepts. MPI's own calls count elements in an int.
[[nodiscard]] std::int64_t most_bytes(const std::string& backend);

// `bytes` has the same meaning as in nccl-tests.
[[nodiscard]] Shape shape_of(Operation operation, int ranks, std::int64_t bytes);

// The factor from algorithm bandwidth to bus bandwidth, which does not depend on the number of
// ranks.
[[nodiscard]] double bus_factor(Operation operation, int ranks);

}  // namespace muster::programs::bench
