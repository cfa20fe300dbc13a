// How --help looks, for all commands and programs: 80 columns, flags in groups, values as words
// (SECONDS, HOSTS).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace muster::trainflags {

// `program` is what follows the flags in the usage line, e.g. "PROGRAM [ARGUMENTS]". A footer's
// paragraphs are wrapped; its lines that begin with a blank stay as they are.
[[nodiscard]] std::shared_ptr<CLI::Formatter> help_formatter(std::string program = {});

// The word for an option's value: "SECONDS", "cpu|cuda|auto". Empty: it takes none.
[[nodiscard]] std::string value_word(const CLI::Option& option);

// The values that an option accepts; empty: any.
[[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option);

// What --help shows, for man pages. `left` is indented where a flag has no short name.
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

// How to write SECONDS; empty if no flag of the command takes them.
[[nodiscard]] std::string note_about_seconds(const CLI::App& command);

// "muster hosts [FLAGS]"; `name` is the command's full name.
[[nodiscard]] std::string usage_line(const CLI::App& command, const std::string& name);

// What follows the flags: "PROGRAM [ARGUMENTS]". Empty: nothing.
[[nodiscard]] std::string program_word(const CLI::App& command);

}  // namespace muster::trainflags
