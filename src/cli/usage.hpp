// What is wrong with a command line, in our words instead of the parser's.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace muster::cli {

// The command that the line names, as far as its words are commands.
[[nodiscard]] const CLI::App* named_command(const CLI::App* app,
                                            const std::vector<std::string>& words);

// For a line that the parser refused; `words` is the line.
[[nodiscard]] Error usage_error(const CLI::App& app, const std::vector<std::string>& words,
                                const CLI::ParseError& error);

// What is wrong with the value of a flag.
[[nodiscard]] std::string in_plain_words(const CLI::ParseError& error);

// For a flag that `command` does not have. Names the one that was meant, if there is one.
[[nodiscard]] Error unknown_flag(const CLI::App& command, const std::string& flag);

}  // namespace muster::cli
