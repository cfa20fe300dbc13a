// The layout of --help, for all commands and programs: 80 columns, flags in groups, value words
// such as SECONDS and HOSTS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace muster::trainflags {

// `program` follows the flags in the usage line, e.g. "PROGRAM [ARGUMENTS]". Paragraphs of a footer
// are wrapped, but its lines that begin with a blank are kept.
[[nodiscard]] std::shared_ptr<CLI::Formatter> help_formatter(std::string program = {});

// Returns the word for an option's value: "SECONDS", "cpu|cuda|auto". Empty if it takes no value.
[[nodiscard]] std::string value_word(const CLI::Option& option);

// Returns the values that an option accepts; empty if it accepts any value.
[[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option);

// One row of --help, also used for man pages. `left` is indented if a flag has no short name.
struct HelpRow {
  std::string left;
  std::string right;
};
struct HelpGroup {
  std::string title;
  std::vector<HelpRow> rows;
};
[[nodiscard]] std::vector<HelpGroup> option_groups(const CLI::App& command);
[[nodiscard]] std::vector<HelpGroup> command_groups(const CLI::App& command);

// Returns a sentence on how to write SECONDS; empty if no flag of the command takes such a value.
[[nodiscard]] std::string note_about_seconds(const CLI::App& command);

// Returns "muster hosts [FLAGS]"; `name` is the command's full name.
[[nodiscard]] std::string usage_line(const CLI::App& command, const std::string& name);

// Returns the part of the usage line after the flags: "PROGRAM [ARGUMENTS]". May be empty.
[[nodiscard]] std::string program_word(const CLI::App& command);

}  // namespace muster::trainflags
