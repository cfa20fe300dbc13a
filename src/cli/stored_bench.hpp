// `muster bench compare` and `show`: results that were stored before.
#pragma once

#include "base/error.hpp"
#include "cli/bench_options.hpp"

namespace muster::cli {

constexpr const char* kResultsFile = "/bench.json";  // in a run's folder

// Bytes a second of --expect; 0: it was not given.
[[nodiscard]] Result<double> expected_rate(const BenchOptions& options);

[[nodiscard]] Result<int> compare_two(const BenchOptions& options);
[[nodiscard]] Result<int> show_one(const BenchOptions& options);

}  // namespace muster::cli
