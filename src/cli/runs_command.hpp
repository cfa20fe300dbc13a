// What the commands about runs share. Each command has its own file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/command.hpp"

namespace muster::cli {

// Adds a command with options of type `Options` and the action `verb`.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_verb(CLI::App& app, Action& action,
                                                        const char* name, const char* about,
                                                        Result<int> (*verb)(const Options&)) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, about);
  command->callback(
      [options, &action, verb] { action = [options, verb] { return verb(*options); }; });
  return {command, options};
}

inline constexpr const char* kRunHelp =
    "Run id, the beginning of one, a name that --name gave, or 'last' for the newest run";

// Adds the argument that names the run; its default is "last".
inline CLI::Option* take_run(CLI::App* command, std::string& run) {
  run = "last";
  return command->add_option("RUN", run, std::string(kRunHelp) + ", which is the default");
}

// The width of the terminal on standard output. 0 if it is not a terminal, so that lines are not
// cut.
[[nodiscard]] std::size_t columns_of_output();

void add_logs(CLI::App& app, Action& action);
void add_attach(CLI::App& app, Action& action);
void add_stop(CLI::App& app, Action& action);
void add_why(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_rm(CLI::App& app, Action& action);

}  // namespace muster::cli
