// Man pages, made from the parser.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace muster::cli {

// "muster lab up"; with '-' the name of its page, "muster-lab-up".
[[nodiscard]] std::string full_name(const CLI::App& command, char separator = ' ');

// The page of a command in the language of man(7).
[[nodiscard]] std::string manual_page(const CLI::App& command, const std::string& version);

}  // namespace muster::cli
