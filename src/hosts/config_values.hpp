// Reads the values of muster.yaml's keys, with their positions in the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hosts/host.hpp"
#include "hosts/selection.hpp"
#include "hosts/source.hpp"
#include "hosts/yaml_map.hpp"

namespace muster::hosts {

[[nodiscard]] Error refuse(const Source& file, const YamlScalar& at, std::string what,
                           std::string hint = {});

// Returns the value of a key that takes exactly one.
[[nodiscard]] Result<const YamlScalar*> only_value(const Source& file, const YamlEntry& entry);

[[nodiscard]] Result<std::vector<Host>> read_hosts(const Source& file, const YamlEntry& entry);
[[nodiscard]] Result<std::optional<Selection>> read_selection(const Source& file,
                                                              const YamlEntry& entry);
[[nodiscard]] Result<std::string> read_path(const Source& file, const YamlEntry& entry);
[[nodiscard]] Result<std::string> read_user(const Source& file, const YamlEntry& entry);
[[nodiscard]] Result<int> read_port(const Source& file, const YamlEntry& entry);

}  // namespace muster::hosts
