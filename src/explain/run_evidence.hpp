// Uses what is known about a run in addition to its output: kernel logs, how ranks ended, and
// findings of the checks before the run. Pure.
#pragma once

#include <vector>

#include "explain/candidate.hpp"

namespace muster::explain {

// `candidates` are those from the output. Adds further ones, and marks those that other evidence
// supports.
void add_run_evidence(std::vector<Candidate>& candidates, const RunKnowledge& run);

// Adds what ranks printed before they gave up, if nothing else explains why.
void add_parting_words(std::vector<Candidate>& candidates, const std::vector<PartingWords>& words,
                       const RunKnowledge& run);

}  // namespace muster::explain
