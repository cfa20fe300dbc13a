// What every command of the CLI shares: one function adds it to the parser, its action returns an
// exit code or an Error, and main.cpp alone turns an Error into an exit code.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace muster::cli {

// What the command that was given does; main runs it after the whole line was parsed.
using Action = std::function<Result<int>()>;

// Each adds its command to `app`; parsing that command sets `action`.
void add_exec(CLI::App& app, Action& action);
void add_hosts(CLI::App& app, Action& action);
void add_lab(CLI::App& app, Action& action);

}  // namespace muster::cli
