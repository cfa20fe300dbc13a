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
  bool names = false;       // names differ; false: sizes or types differ
  std::string group = {};   // empty: the default group
  std::int64_t number = 0;  // the first number where they differ
  // The operation whose sizes differ; otherwise that of one of the ranks.
  std::string operation = {};
  double age_s = 0;  // how long ranks have waited in this group since then
  // What the ranks did under this number, most frequent first: "all_reduce", "[[1000]] float".
  std::vector<std::pair<std::string, Ranks>> sides = {};
  // "it looks as if rank 3 left out broadcast #1841"; empty if nothing suggests that.
  std::string shift = {};
};

// Only looks at groups in which some rank waits: if operations differ but ended anyway, that is no
// problem.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const std::vector<RankReading>& ranks);

// The numbers of elements in "[[1000], [3, 4]]", here {1000, 12}; empty if the text has another
// form.
[[nodiscard]] std::vector<std::uint64_t> elements_of(const std::string& sizes);

}  // namespace muster::why
