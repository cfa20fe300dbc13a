// Which ranks' output is shown, and whether equal lines are shown once (`--show`).
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"

namespace muster::run {

struct Show {
  enum class Fold { kOnTerminals, kAlways, kNever };

  Fold fold = Fold::kOnTerminals;
  bool first_per_host = false;
  std::optional<std::set<int>> ranks = {};  // no value: all

  [[nodiscard]] bool shows(int rank) const { return !ranks || ranks->contains(rank); }
  [[nodiscard]] bool folds(bool on_terminal) const {
    return fold == Fold::kAlways || (fold == Fold::kOnTerminals && on_terminal);
  }
};

// Reads "folded", "all", "first-per-host" or ranks such as "0" and "0,8".
[[nodiscard]] Result<Show> parse_show(const std::string& text);

}  // namespace muster::run
