// Environment variables for the ranks, from muster.yaml and from files of variables. No error
// message shows a value, because it may be secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"
#include "hosts/yaml_map.hpp"

namespace muster::hosts {

constexpr std::size_t kMaxVariablesBytes = std::size_t{1} << 20;

struct Variable {
  std::string name;
  // Nothing: take the value of muster's own environment.
  std::optional<std::string> value = std::nullopt;
  Where where = {};
  std::string profile = {};  // profile in muster.yaml that sets it; empty: none
};

// True for letters, digits and '_', as accepted by -x.
[[nodiscard]] bool is_variable_name(std::string_view name);

// Reads the value of `environment:`, a map of names and values or a list of NAME and NAME=value.
[[nodiscard]] Result<std::vector<Variable>> read_variables(const Source& file,
                                                           const YamlEntry& entry);

// Parses a file with NAME=value or NAME in each line. Lines that begin with # are comments. Quotes
// around a value are removed, and nothing in it is expanded.
[[nodiscard]] Result<std::vector<Variable>> parse_variables(const Source& source);

}  // namespace muster::hosts
