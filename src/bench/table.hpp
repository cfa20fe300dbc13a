// Results as text for a terminal. Lines that are no numbers start with '#', and two blank lines
// part the tables, so that awk and gnuplot read them as they are.
#pragma once

#include <cstddef>
#include <string>

#include "bench/results.hpp"

namespace muster::bench {

constexpr std::size_t kTableWidth = 110;

[[nodiscard]] std::string table_text(const Results& results);
// Its end, by itself: the verdicts, and why not all was measured.
[[nodiscard]] std::string verdict_text(const Results& results);

// For the documentation of a cluster, as Markdown: all-reduce of the largest size by each number of
// ranks, with RDMA and without it, over the best of the backends that trainings use.
[[nodiscard]] std::string rank_count_table(const Results& results);

}  // namespace muster::bench
