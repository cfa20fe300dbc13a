// Ranks of one group that are in different collectives, or in the same one with different tensors.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "why/waits.hpp"

namespace muster::why {

struct Mismatch {
  bool names = false;          // false: sizes or types
  std::string group = {};      // empty: the default group
  std::int64_t number = 0;     // the first on which they disagree
  std::string operation = {};  // of these that differ in size; otherwise of one of the ranks
  double age_s = 0;            // how long ranks have waited in this group since
  // What the ranks did under this number, the most frequent first: "all_reduce", "[[1000]] float".
  std::vector<std::pair<std::string, Ranks>> sides = {};
  // "it looks as if rank 3 left out broadcast #1841"; empty: no such thing.
  std::string shift = {};
};

// Only in groups in which somebody waits: what disagreed and ended all the same is no trouble.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const std::vector<RankReading>& ranks);

// The number of elements of "[[1000], [3, 4]]", for example {1000, 12}; empty: it is no such text.
[[nodiscard]] std::vector<std::uint64_t> elements_of(const std::string& sizes);

}  // namespace muster::why
