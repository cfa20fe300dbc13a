// What a run knows beyond its output: the logs of kernels, how ranks ended, and what the checks
// found before. Pure.
#pragma once

#include <vector>

#include "explain/candidate.hpp"

namespace muster::explain {

// `candidates`: those that the output shows. Adds others, and marks those that are supported.
void add_run_evidence(std::vector<Candidate>& candidates, const RunKnowledge& run);

}  // namespace muster::explain
