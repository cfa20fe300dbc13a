// Writes Results as text for a terminal. Lines without numbers start with '#', and two blank lines
// separate tables, so that awk and gnuplot can read the output.
#pragma once

#include <cstddef>
#include <string>

#include "bench/results.hpp"

namespace muster::bench {

constexpr std::size_t kTableWidth = 110;

[[nodiscard]] std::string table_text(const Results& results);
// Returns only the end of table_text: the verdicts, and why the bench stopped early.
[[nodiscard]] std::string verdict_text(const Results& results);

// Returns a Markdown table for the documentation of a cluster: the bandwidth of the largest
// all-reduce for each number of ranks, with and without RDMA. Uses the fastest backend, and plain
// MPI only if there is no other.
[[nodiscard]] std::string rank_count_table(const Results& results);

}  // namespace muster::bench
