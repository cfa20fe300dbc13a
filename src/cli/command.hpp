// What every command of the CLI shares: one function adds it to the parser, its action returns an
// exit code or an Error, and main.cpp alone turns an Error into an exit code.
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

// What the command that was given does; main runs it after the whole line was parsed.
using Action = std::function<Result<int>()>;

// The exit code for an Error; main.cpp has the one table.
[[nodiscard]] int exit_code(ErrorCode code);

// The program to run and its arguments. They never pass through the parser, which would read "[a]"
// as a list.
using Program = std::vector<std::string>;

// The Error for a command that wants a program and got none.
[[nodiscard]] inline Error no_program(const std::string& example) {
  return {
      .code = ErrorCode::kUsage, .what = "no command was given", .hint = "for example: " + example};
}

// Read the words of commands whose arguments have a shape of their own.
ReadLine read_bench_line;
ReadLine read_exec_line;
ReadLine read_train_line;

// Each adds its command to `app`; parsing that command sets `action`.
void add_lab(CLI::App& app, Action& action, const Program& program);
void add_facts(CLI::App& app, Action& action);
void add_hosts(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action, const Program& program);
void add_setup(CLI::App& app, Action& action);
void add_exec(CLI::App& app, Action& action, const Program& program);
void add_sync(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action, const Program& program);
// `words` are the whole line up to the program, for the commands that hand it on to Slurm.
void add_run(CLI::App& app, Action& action, const std::vector<std::string>& words,
             const Program& program);
void add_submit(CLI::App& app, Action& action, const std::vector<std::string>& words,
                const Program& program);
void add_bench(CLI::App& app, Action& action, const std::vector<std::string>& words,
               const Program& program);
// `program` follows "--"; muster emit k8s needs it.
void add_emit(CLI::App& app, Action& action, const Program& program);
void add_train(CLI::App& app, Action& action, const Program& program);
void add_explain(CLI::App& app, Action& action);
void add_runs(CLI::App& app, Action& action);  // runs, logs, attach, stop
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

}  // namespace muster::cli
