// `muster bench compare` and `show`, which read stored results.
#pragma once

#include "base/error.hpp"
#include "cli/bench_options.hpp"

namespace muster::cli {

constexpr const char* kResultsFile = "/bench.json";  // in the folder of a run

// The value of --expect in bytes per second; 0 if it was not given.
[[nodiscard]] Result<double> expected_rate(const BenchOptions& options);

[[nodiscard]] Result<int> compare_two(const BenchOptions& options);
[[nodiscard]] Result<int> show_one(const BenchOptions& options);

}  // namespace muster::cli
