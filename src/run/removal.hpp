// Removes what is stored of runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::run {

struct StoredRun {
  std::string base;
  double last_s = 0;        // when it ended, or its folder was last changed
  std::uint64_t bytes = 0;  // of all its files
  bool in_use = false;

  friend bool operator==(const StoredRun&, const StoredRun&) = default;
};

struct Removal {
  std::set<std::string> named = {};
  std::optional<double> before_s = std::nullopt;          // runs that ended earlier
  std::optional<std::uint64_t> max_bytes = std::nullopt;  // the oldest, until all fit
};

// Which of the runs, given newest first, to remove: oldest first. Those in use stay. Pure.
[[nodiscard]] std::vector<StoredRun> to_remove(const std::vector<StoredRun>& newest_first,
                                               const Removal& rules);

// Of all attempts of the run. Cost: one look at each file.
[[nodiscard]] std::uint64_t stored_bytes(const std::string& base);
[[nodiscard]] double changed_s(const std::string& base);

// Removes the folders of all its attempts. A folder disappears from the list at once.
[[nodiscard]] Result<void> remove_run(const std::string& base);
// Removes what an interrupted remove_run left.
void clear_removed();

}  // namespace muster::run
