// What a run knows beyond its output: the logs of kernels, how ranks ended, and what the checks
// found before. Pure.
#pragma once

#include <vector>

#include "explain/candidate.hpp"

namespace muster::explain {

// `candidates`: those that the output shows. Adds others, and marks those that are supported.
void add_run_evidence(std::vector<Candidate>& candidates, const RunKnowledge& run);

// What ranks printed before they gave up, if nothing else explains why they did.
void add_parting_words(std::vector<Candidate>& candidates, const std::vector<PartingWords>& words,
                       const RunKnowledge& run);

}  // namespace muster::explain
