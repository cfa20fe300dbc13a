// The variables of the user's environment that ranks get automatically. docs/config.md lists them
// for users. Pure.
#pragma once

#include <span>
#include <string_view>

namespace muster::cli {

// The names, sorted. The values are words and numbers that mean the same on every host, and never a
// path, device, interface, address or secret.
[[nodiscard]] std::span<const std::string_view> always_passed();

[[nodiscard]] bool is_always_passed(std::string_view name);

// Whether the variable belongs to a library that only ranks use, and does not look like a path.
// Users may expect ranks to get such variables.
[[nodiscard]] bool is_for_ranks(std::string_view name);

}  // namespace muster::cli
