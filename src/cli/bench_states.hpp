// The saved states of a bench of pairs: what its links are compared with, and what it saves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/results.hpp"
#include "facts/saved_state.hpp"

namespace muster::cli {

// Of a bench of pairs, beside its results.
struct PairStates {
  std::string how = {};                       // as facts::SavedRate::how
  std::map<std::string, std::string> names;   // what each host calls itself
  std::vector<facts::SavedState> saved = {};  // those that can be compared
};

// Reads the saved states of the hosts in `names`. Says on stderr which ones cannot be used.
void read_states(PairStates& states);

// Adds the verdict of the comparison with saved rates, or says on stderr why there is none.
void judge_by_states(const PairStates& states, bench::Results& results);

// Saves the rates of the pairs, without slow ones unless these are wanted too.
[[nodiscard]] Result<void> save_rates(const PairStates& states, const bench::Results& results,
                                      bool slow_too);

}  // namespace muster::cli
