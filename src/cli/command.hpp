// What all commands of the CLI share. One function per command adds it to the parser. Its action
// returns an exit code or an Error, and only main.cpp turns an Error into an exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/habits.hpp"
#include "trainflags/help.hpp"

namespace muster::cli {

using trainflags::help_formatter;

// What the given command does. main runs it after the whole line has been parsed.
using Action = std::function<Result<int>()>;

// The exit code for an Error. The only table of them is in exit_code.cpp.
[[nodiscard]] int exit_code(ErrorCode code);

// The program to run and its arguments. They bypass the parser, which would read "[a]" as a list.
using Program = std::vector<std::string>;

// The Error for a command that needs a program and got none.
[[nodiscard]] inline Error no_program(const std::string& example) {
  return {
      .code = ErrorCode::kUsage, .what = "no command was given", .hint = "for example: " + example};
}

// Functions that read the lines of commands with special arguments.
ReadLine read_bench_line;
ReadLine read_exec_line;
ReadLine read_train_line;

// Each of these adds its command to `app`. Parsing that command sets `action`.
void add_lab(CLI::App& app, Action& action, const Program& program);
void add_facts(CLI::App& app, Action& action);
void add_hosts(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action, const Program& program);
void add_setup(CLI::App& app, Action& action);
void add_exec(CLI::App& app, Action& action, const Program& program);
void add_sync(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action, const Program& program);
// `words` is the whole line up to the program. `run` and `submit` may pass it on to Slurm, and
// `bench` stores it with the results.
void add_run(CLI::App& app, Action& action, const std::vector<std::string>& words,
             const Program& program);
void add_submit(CLI::App& app, Action& action, const std::vector<std::string>& words,
                const Program& program);
void add_bench(CLI::App& app, Action& action, const std::vector<std::string>& words,
               const Program& program);
// `program` is what follows "--", which muster emit k8s needs.
void add_emit(CLI::App& app, Action& action, const Program& program);
void add_train(CLI::App& app, Action& action, const Program& program);
void add_explain(CLI::App& app, Action& action);
void add_runs(CLI::App& app, Action& action);  // all commands about runs
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

}  // namespace muster::cli
