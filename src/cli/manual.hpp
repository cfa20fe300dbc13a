// Makes man pages from the parser.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace muster::cli {

// Returns "muster lab up". With the separator '-', the name of the page: "muster-lab-up".
[[nodiscard]] std::string full_name(const CLI::App& command, char separator = ' ');

// The man page of a command, in the man(7) format.
[[nodiscard]] std::string manual_page(const CLI::App& command, const std::string& version);

}  // namespace muster::cli
