// Environment variables for the ranks, as muster.yaml and files of variables name them. Values may
// be secret: no message shows one.
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
  std::optional<std::string> value = std::nullopt;  // nothing: as in muster's own environment
  Where where = {};
  std::string profile = {};  // of muster.yaml; empty: none
};

// Letters, digits and '_', as after -x.
[[nodiscard]] bool is_variable_name(std::string_view name);

// `environment:`, a map of names and values or a list of NAME and NAME=value.
[[nodiscard]] Result<std::vector<Variable>> read_variables(const Source& file,
                                                           const YamlEntry& entry);

// A file with NAME=value or NAME in each line; # begins a comment line. Quotes around a value are
// taken off, and nothing in it is replaced.
[[nodiscard]] Result<std::vector<Variable>> parse_variables(const Source& source);

}  // namespace muster::hosts
