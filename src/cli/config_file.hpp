// The muster.yaml of a command: found, read, and laid under the flags that were typed.
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
  std::string path = {};  // empty: there is none
  std::string text = {};
  hosts::Config config = {};                    // with the profile that was asked for
  std::vector<hosts::Variable> variables = {};  // of one name, the last holds; see take_config
};

// --config, else the muster.yaml in the current folder or the nearest one above it. Refuses a file
// that another user could have written.
[[nodiscard]] Result<std::shared_ptr<const ConfigFile>> read_config(const ClusterOptions& options);

// The same file, read with another profile.
[[nodiscard]] Result<std::shared_ptr<const ConfigFile>> with_profile(const ConfigFile& file,
                                                                     const std::string& profile);

// Keeps the file in `options.file`, with its variables, and gives each flag of the command that was
// not typed the value that the file has for it.
[[nodiscard]] Result<void> take_config(CLI::App& command, ClusterOptions& options);

// Whether the line has this flag. False if `flag` is empty.
[[nodiscard]] bool is_typed(const CLI::App& command, std::string_view flag);

// Whether the line has a flag of this key, or one that sets the key aside.
[[nodiscard]] bool is_overridden(const CLI::App& command, std::string_view key);

}  // namespace muster::cli
