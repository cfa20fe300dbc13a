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

// Returns the message sizes in bytes from `min` to `max`. Each is `factor` times the previous one,
// rounded down to whole elements; if the operation divides the data between ranks, to the same
// number of elements for each rank. Leaves out duplicates and 0. A barrier has a single size, 0.
[[nodiscard]] std::vector<std::int64_t> sizes_of(Operation operation, int ranks, std::int64_t min,
                                                 std::int64_t max, int factor);

// Returns the most bytes that a backend accepts. MPI's own calls count elements in an int.
[[nodiscard]] std::int64_t most_bytes(const std::string& backend);

// `bytes` has the same meaning as in nccl-tests.
[[nodiscard]] Shape shape_of(Operation operation, int ranks, std::int64_t bytes);

// Returns the factor that turns algorithm bandwidth into bus bandwidth, which is comparable between
// different numbers of ranks.
[[nodiscard]] double bus_factor(Operation operation, int ranks);

}  // namespace muster::programs::bench
