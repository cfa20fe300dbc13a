// Finds and reads the muster.yaml of a command, and uses its values for flags that were not typed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/cluster_options.hpp"
#include "hosts/config.hpp"

namespace muster::cli {

struct ConfigFile {
  std::string path = {};  // empty if there is none
  std::string text = {};
  hosts::Config config = {};  // including the requested profile
  // Filled by take_config. If a name occurs more than once, the last one counts.
  std::vector<hosts::Variable> variables = {};
};

// Reads the file of --config, or else the muster.yaml in the current directory or the nearest one
// above it. Rejects a file that another user could have written.
[[nodiscard]] Result<std::shared_ptr<const ConfigFile>> read_config(const ClusterOptions& options);

// Reads the same file with another profile.
[[nodiscard]] Result<std::shared_ptr<const ConfigFile>> with_profile(const ConfigFile& file,
                                                                     const std::string& profile);

// Stores the file and its variables in `options.file`, and gives flags that were not typed the
// values in the file.
[[nodiscard]] Result<void> take_config(CLI::App& command, ClusterOptions& options);

// Whether the line contains this flag. False if `flag` is empty.
[[nodiscard]] bool is_typed(const CLI::App& command, std::string_view flag);

// Whether the line contains the flag of this key, or a flag that makes the key irrelevant.
[[nodiscard]] bool is_overridden(const CLI::App& command, std::string_view key);

}  // namespace muster::cli
