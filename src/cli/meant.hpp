// Guesses which command or flag a mistyped word was meant to be. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::cli {

// Returns the known word that begins with `typed` or differs from it by one or two typing mistakes;
// empty if there is none. Leading dashes are ignored. Words of one letter match nothing.
[[nodiscard]] std::string meant(std::string_view typed, std::span<const std::string> known);

}  // namespace muster::cli
