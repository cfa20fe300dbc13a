// What somebody who mistyped a command or a flag meant. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::cli {

// The known word that is a typing mistake or two away from `typed`, or begins with it; empty: none.
// Dashes in front do not count, and words of one letter are like no other.
[[nodiscard]] std::string meant(std::string_view typed, std::span<const std::string> known);

}  // namespace muster::cli
