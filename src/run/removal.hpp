// Removes stored runs.
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
  double last_s = 0;        // when it ended, or else when its folder last changed
  std::uint64_t bytes = 0;  // total size of its files
  bool in_use = false;

  friend bool operator==(const StoredRun&, const StoredRun&) = default;
};

struct Removal {
  std::set<std::string> named = {};
  std::optional<double> before_s = std::nullopt;  // remove runs that ended before this time
  // Remove the oldest runs until the rest fits.
  std::optional<std::uint64_t> max_bytes = std::nullopt;
};

// Selects the runs to remove, oldest first. Runs in use are kept. Pure.
[[nodiscard]] std::vector<StoredRun> to_remove(const std::vector<StoredRun>& newest_first,
                                               const Removal& rules);

// The total size of the files of all attempts of the run. Cost: one look at each file.
[[nodiscard]] std::uint64_t stored_bytes(const std::string& base);
// When the folder of one of its attempts last changed, in Unix time.
[[nodiscard]] double changed_s(const std::string& base);

// Removes the folders of all attempts of the run. A folder disappears from the list of runs before
// its files are removed.
[[nodiscard]] Result<void> remove_run(const std::string& base);
// Removes what an interrupted remove_run left behind.
void clear_removed();

}  // namespace muster::run
