// Which variables of the user's environment the ranks get without being asked. docs/config.md lists
// them for users. Pure.
#pragma once

#include <span>
#include <string_view>

namespace muster::cli {

// In order. Their values are words and numbers that mean the same on every host: no path, device,
// interface, address or secret.
[[nodiscard]] std::span<const std::string_view> always_passed();

[[nodiscard]] bool is_always_passed(std::string_view name);

// Whether it is a setting of a library that only the ranks use, and does not look like a path. The
// user may expect that the ranks get it.
[[nodiscard]] bool is_for_ranks(std::string_view name);

}  // namespace muster::cli
