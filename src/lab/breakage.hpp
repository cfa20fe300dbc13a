// Ways to break one host, as happens on real clusters. To add one, add a row to the table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

struct Breakage {
  std::string_view name;
  std::string_view argument;  // name of the argument in --help; empty: none
  std::string_view what;      // one line for --help
  Result<void> (*apply)(const Spec& spec, int host, const std::string& argument);
};

[[nodiscard]] std::span<const Breakage> breakages();

// Finds the breakage by name, checks the argument, and applies it.
[[nodiscard]] Result<void> break_host(const Spec& spec, int host, std::string_view name,
                                      const std::string& argument);

}  // namespace muster::lab
