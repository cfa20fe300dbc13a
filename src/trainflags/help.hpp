// How --help looks, for all commands and programs: 80 columns, flags in groups, values as words
// (SECONDS, HOSTS).
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace muster::trainflags {

// `program` is what follows the flags in the usage line, e.g. "PROGRAM [ARGUMENTS]". A footer's
// paragraphs are wrapped; its lines that begin with a blank stay as they are.
[[nodiscard]] std::shared_ptr<CLI::Formatter> help_formatter(std::string program = {});

// The word for an option's value: "SECONDS", "cpu|cuda|auto". Empty: it takes none.
[[nodiscard]] std::string value_word(const CLI::Option& option);

}  // namespace muster::trainflags
