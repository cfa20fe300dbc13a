// Wording shared by all verdicts. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "why/rank_reading.hpp"

namespace muster::why {

// "0.4 s", "94 s", "12 min", "3.5 h". Negative durations count as zero.
[[nodiscard]] std::string seconds_text(double seconds);

// "98 %". Negative shares count as zero.
[[nodiscard]] std::string percent_text(double share);

// "1 rank", "15 ranks".
[[nodiscard]] std::string count_of_ranks(std::size_t count);

// `one` for a single rank, `many` for several: "has", "have".
[[nodiscard]] const char* verb(std::size_t count, const char* one, const char* many);

// "rank 3 (n2)", "ranks 1,4-7 (n1, n3)". More than four hosts are only counted: "(5 hosts)".
[[nodiscard]] std::string rank_names(const std::vector<const RankReading*>& ranks);

// The hosts of these ranks, each once, in the order of `ranks`.
[[nodiscard]] std::vector<std::string> hosts_of(const std::vector<const RankReading*>& ranks);

[[nodiscard]] std::vector<int> numbers_of(const std::vector<const RankReading*>& ranks);

// place_of returns where the rank is, such as "train.py:57 load_shard()"; "" if that is unknown.
// whereabouts returns what to write after "rank 3 is": "at train.py:57 load_shard(), in a read of
// /data/x (state D)". Never empty.
[[nodiscard]] std::string place_of(const RankReading& rank);
[[nodiscard]] std::string whereabouts(const RankReading& rank);

// "a, b and 3 more".
[[nodiscard]] std::string listed(const std::vector<std::string>& items, std::size_t most);

}  // namespace muster::why
