// Guesses which command or flag a mistyped word was meant to be. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::cli {

// Returns the known word that differs from `typed` by a few typing mistakes (at most three, fewer
// in short words), or else one that begins with `typed`; empty if there is none. Leading dashes are
// ignored. Words of one letter match nothing.
[[nodiscard]] std::string meant(std::string_view typed, std::span<const std::string> known);

}  // namespace muster::cli
