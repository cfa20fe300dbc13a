// What muster knows about a flag of `run`. Each flag is one row in one of three tables:
// cluster_flags.cpp, job_flags.cpp and run_flags.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "trainflags/duration_option.hpp"

namespace muster::cli {

struct Flag {
  std::string_view names;             // the spellings that --help shows: "-H,--hosts,--host,-w"
  std::string_view value = {};        // what --help calls its value; empty if it takes none
  std::string_view group = {};        // heading in --help; empty: "Other flags"
  std::string_view foreign = {};      // spellings of other launchers, separated by blanks
  std::string_view if_left_out = {};  // the value if the flag is given without one
  bool secret = false;                // the value is NAME=SECRET; muster stores only NAME
  bool kept = true;                   // stored with the run, for --again
  bool in_slurm_job = true;           // passed on to the `muster run` inside the Slurm job
  bool beside_again = false;          // may be combined with --again, and replaces the stored flag
  std::string_view help = {};

  [[nodiscard]] bool takes_value() const { return !value.empty(); }
};

// Adds one flag to the parser.
struct Adder {
  CLI::App& command;
  const Flag& flag;

  template <typename T>
  CLI::Option* value(T& target) const {
    return command.add_option(names(), target, help())->type_name(std::string(flag.value));
  }
  // The flag may be repeated, with one value each time.
  CLI::Option* list(std::vector<std::string>& target) const {
    return value(target)->take_all()->expected(1);
  }
  template <typename T>
  CLI::Option* duration(T& seconds, double least, double most = trainflags::kForever) const {
    return trainflags::takes_duration(value(seconds), least, most);
  }
  template <typename Read>
  CLI::Option* text(Read read) const {
    return command.add_option_function<std::string>(names(), read, help())
        ->type_name(std::string(flag.value));
  }
  CLI::Option* on(bool& target) const { return command.add_flag(names(), target, help()); }
  template <typename Call>
  CLI::Option* call(Call call) const {
    return command.add_flag_callback(names(), call, help());
  }

 private:
  [[nodiscard]] std::string names() const { return std::string(flag.names); }
  [[nodiscard]] std::string help() const { return std::string(flag.help); }
};

// A flag, and the field of `Options` that it sets.
template <typename Options>
struct Row {
  Flag flag;
  CLI::Option* (*add)(const Adder& flag, Options& options);
};

template <typename Options>
void add_flags(CLI::App& command, std::span<const Row<Options>> rows, Options& options) {
  for (const Row<Options>& row : rows) {
    CLI::Option* option = row.add({.command = command, .flag = row.flag}, options);
    if (!row.flag.group.empty()) option->group(std::string(row.flag.group));
  }
}

}  // namespace muster::cli
