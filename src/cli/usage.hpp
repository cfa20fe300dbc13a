// Describes mistakes in a command line in muster's words instead of the parser's.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace muster::cli {

// The command that the line names, as far as its first words are commands.
[[nodiscard]] const CLI::App* named_command(const CLI::App* app,
                                            const std::vector<std::string>& words);

// The Error for a line that the parser rejected; `words` is the line.
[[nodiscard]] Error usage_error(const CLI::App& app, const std::vector<std::string>& words,
                                const CLI::ParseError& error);

// What is wrong with the value of a flag, without the parser's wording.
[[nodiscard]] std::string in_plain_words(const CLI::ParseError& error);

// The Error for a flag that `command` does not have. Suggests the most similar flag, if there is
// one.
[[nodiscard]] Error unknown_flag(const CLI::App& command, const std::string& flag);

}  // namespace muster::cli
