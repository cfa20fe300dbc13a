// Finds ranks of one group that are in different collectives, or in the same one with different
// tensors. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "why/waits.hpp"

namespace muster::why {

struct Mismatch {
  bool names = false;       // true: the operations differ; false: only their sizes or types do
  std::string group = {};   // the group's name; "" for the default group
  std::int64_t number = 0;  // the number of the first operation that differs
  // The operation whose sizes or types differ. If `names`, that of one of the ranks.
  std::string operation = {};
  double age_s = 0;  // the longest time that a rank has waited in this group
  // What the ranks did as operation `number`, most frequent first: "all_reduce" if `names`,
  // otherwise "[[1000]] float32".
  std::vector<std::pair<std::string, Ranks>> sides = {};
  // "it looks as if rank 3 left out broadcast #1841"; empty if nothing suggests that.
  std::string shift = {};
};

// Looks only at groups in which some rank waits. If operations differed but have ended anyway, that
// is no problem.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const std::vector<RankReading>& ranks);

// Returns the number of elements of each tensor: {1000, 12} for "[[1000], [3, 4]]". Empty if the
// text has another form.
[[nodiscard]] std::vector<std::uint64_t> elements_of(const std::string& sizes);

}  // namespace muster::why
