// What muster-bench measures, one function a subcommand.
#pragma once

#include "programs/bench/lines.hpp"
#include "programs/bench/options.hpp"

namespace muster::programs::bench {

// How many elements were wrong, of all ranks; the same on all of them.
[[nodiscard]] std::int64_t measure_collectives(const CollectivesOptions& options,
                                               const World& world, const Lines& lines);

void measure_pairs(const PairsOptions& options, const World& world, const Lines& lines);

void measure_training(const TrainingRequest& request, const Lines& lines);

}  // namespace muster::programs::bench
