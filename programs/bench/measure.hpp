// The measurements of muster-bench, one function per subcommand.
#pragma once

#include "programs/bench/lines.hpp"
#include "programs/bench/options.hpp"

namespace muster::programs::bench {

// Returns the number of wrong elements on all ranks, which is the same on every rank.
[[nodiscard]] std::int64_t measure_collectives(const CollectivesOptions& options,
                                               const World& world, const Lines& lines);

void measure_pairs(const PairsOptions& options, const World& world, const Lines& lines);

void measure_training(const TrainingRequest& request, const Lines& lines);

}  // namespace muster::programs::bench
