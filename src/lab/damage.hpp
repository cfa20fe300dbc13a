// Defects of a host's GPUs and network cards, as on real clusters. To add one, add a row to the
// table. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "lab/hardware.hpp"

namespace muster::lab {

struct Damage {
  std::string_view name;
  std::string_view argument;  // name of the argument in --help; empty: none
  std::string_view what;      // one line for --help
  Result<void> (*apply)(Hardware& hardware, const std::string& argument);
};

[[nodiscard]] std::span<const Damage> damages();
[[nodiscard]] const Damage* find_damage(std::string_view name);

// The name of the only defect that needs a process on the host.
constexpr std::string_view kForeignProcess = "gpu-process";

}  // namespace muster::lab
