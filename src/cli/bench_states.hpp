// The saved states that belong to a bench of pairs: the rates to compare with, and the rates to
// save.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/results.hpp"
#include "facts/saved_state.hpp"

namespace muster::cli {

// What a bench of pairs needs in addition to its results.
struct PairStates {
  std::string how = {};                       // see facts::SavedRate::how
  std::map<std::string, std::string> names;   // by host: the hostname that it reports
  std::vector<facts::SavedState> saved = {};  // only those that can be compared
};

// Reads the saved states of the hosts in `names`. Reports on stderr which of them cannot be used.
void read_states(PairStates& states);

// Adds the verdict of the comparison with saved rates, or prints to stderr why there is none.
void judge_by_states(const PairStates& states, bench::Results& results);

// Saves the rates of the pairs. Slow pairs are left out unless `slow_too` is set.
[[nodiscard]] Result<void> save_rates(const PairStates& states, const bench::Results& results,
                                      bool slow_too);

}  // namespace muster::cli
