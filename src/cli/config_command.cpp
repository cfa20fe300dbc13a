// `muster config`: shows the settings of a job, and where each comes from.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/config_keys.hpp"
#include "cli/run_options.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct ConfigOptions {
  RunOptions run;
  bool json = false;
  bool schema = false;
};

// A key or variable that is set, and where its value comes from.
struct Effective {
  std::string name;
  std::string value = {};  // empty for variables, whose values may be secret
  std::string from;
};

struct Effects {
  std::string file = {};  // absolute path; empty if there is no file
  std::string profile = {};
  std::vector<std::string> profiles = {};
  std::vector<Effective> values = {};
  std::vector<std::string> unset = {};
  std::vector<Effective> variables = {};
  std::vector<std::string> left = {};  // variables that are not passed to other hosts
};

std::string place_text(const Where& where, const std::string& profile) {
  return fmt::format("{}:{}{}", where.file, where.line,
                     profile.empty() ? "" : fmt::format(" (profile {})", profile));
}

void add_values(const CLI::App& command, const hosts::Config& config, Effects& effects) {
  for (const ConfigKey& key : config_keys()) {
    const std::string name(key.name);
    const CLI::Option* option = command.get_option_no_throw(std::string(key.flag));
    const hosts::Setting* setting = config.find(key.name);
    if (is_typed(command, key.off_flag)) {
      effects.values.push_back({name, "false", std::string(key.off_flag)});
    } else if (option != nullptr && option->count() > 0) {
      effects.values.push_back(
          {name, fmt::format("{}", fmt::join(option->results(), ", ")), option->get_name()});
    } else if (setting != nullptr && !is_overridden(command, key.name)) {
      effects.values.push_back({name, fmt::format("{}", fmt::join(setting->values, ", ")),
                                place_text(setting->where, setting->profile)});
    } else {
      effects.unset.push_back(name);
    }
  }
}

// Finds out where each variable comes from. Leaves out those that muster always passes.
std::unordered_map<std::string, std::string> variable_origins(const JobOptions& options) {
  std::unordered_map<std::string, std::string> origins;
  for (const hosts::Variable& one : options.cluster.file->variables) {
    origins.insert_or_assign(one.name, place_text(one.where, one.profile));
  }
  for (const std::string& given : options.variables) {
    origins.insert_or_assign(given.substr(0, given.find('=')), "-x");
  }
  return origins;
}

// Checks all profiles, so that a mistake shows now and not when the profile is needed.
Result<void> check_profiles(const ConfigFile& file) {
  for (const std::string& name : file.config.profiles) {
    CLI::App command;
    RunOptions options;
    add_described_options(command, options);
    MUSTER_TRY(options.job.cluster.file, with_profile(file, name));
    MUSTER_CHECK(take_config(command, options.job.cluster));
    MUSTER_CHECK(read_cluster(options.job.cluster, WithoutHosts::kThisMachine));
  }
  return {};
}

Result<Effects> find_effects(CLI::App& command, JobOptions& options, const Program& program) {
  MUSTER_CHECK(take_config(command, options.cluster));
  MUSTER_CHECK(read_cluster(options.cluster, WithoutHosts::kThisMachine));
  const ConfigFile& file = *options.cluster.file;
  MUSTER_CHECK(check_profiles(file));
  MUSTER_TRY(const layout::Job job, read_job(options, program));
  Effects effects{
      .profile = options.cluster.profile, .profiles = file.config.profiles, .left = job.env_left};
  std::error_code failed;
  if (!file.path.empty()) effects.file = std::filesystem::canonical(file.path, failed);
  add_values(command, file.config, effects);
  const auto origins = variable_origins(options);
  for (const std::string& name : job.env) {
    const auto found = origins.find(name);
    effects.variables.push_back(
        {.name = name,
         .from = found == origins.end() ? "your environment (always passed)" : found->second});
  }
  return effects;
}

std::string first_line(const std::string& text) {
  const std::size_t end = text.find('\n');
  const bool more = end != std::string::npos && end + 1 < text.size();
  return printable(text.substr(0, end)) + (more ? " ..." : "");
}

std::string file_text(const Effects& effects) {
  if (effects.file.empty()) return "no muster.yaml in this directory or above it\n";
  std::string text = printable(effects.file);
  if (!effects.profile.empty()) text += fmt::format(", profile {}", effects.profile);
  if (!effects.profiles.empty()) {
    text += fmt::format(" (profiles: {})", fmt::join(effects.profiles, ", "));
  }
  return text + "\n";
}

std::string rows_text(std::vector<Effective> rows) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (Effective& row : rows) {
    row.value = first_line(row.value);
    name_width = std::max(name_width, row.name.size());
    value_width = std::max(value_width, row.value.size());
  }
  std::string text;
  for (const Effective& row : rows) {
    text += fmt::format("  {:{}}  {:{}}{}from {}\n", row.name, name_width, row.value, value_width,
                        value_width > 0 ? "  " : "", printable(row.from));
  }
  return text;
}

std::string to_text(const Effects& effects) {
  std::string text = file_text(effects);
  if (!effects.values.empty()) text += "\n" + rows_text(effects.values);
  if (!effects.variables.empty()) {
    text += "\nvariables for the ranks:\n" + rows_text(effects.variables);
  }
  if (!effects.left.empty()) {
    text +=
        fmt::format("\nnot passed to other hosts without -x: {}\n", fmt::join(effects.left, ", "));
  }
  return text + fmt::format("\nnot set: {}\n", fmt::join(effects.unset, ", "));
}

std::string to_json(const Effects& effects) {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  for (const Effective& one : effects.values) {
    values[one.name] = {{"value", one.value}, {"from", one.from}};
  }
  nlohmann::ordered_json::object_t variables;  // names are unique; operator[] would search for each
  for (const Effective& one : effects.variables) {
    variables.emplace_back(one.name, nlohmann::ordered_json{{"from", one.from}});
  }
  const nlohmann::ordered_json all = {{"file", effects.file},
                                      {"profile", effects.profile},
                                      {"profiles", effects.profiles},
                                      {"values", std::move(values)},
                                      {"variables", std::move(variables)},
                                      {"not_passed", effects.left},
                                      {"not_set", effects.unset}};
  return json_text(all) + "\n";
}

Result<int> show_config(CLI::App& command, ConfigOptions& options, const Program& program) {
  if (options.schema) {
    sys::write_out(config_schema());
    return 0;
  }
  MUSTER_TRY(const Effects effects, find_effects(command, options.run.job, program));
  sys::write_out(options.json ? to_json(effects) : to_text(effects));
  return 0;
}

}  // namespace

void add_config(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* command =
      app.add_subcommand("config", "Check muster.yaml and show what a job would get from it");
  command->formatter(help_formatter("[PROGRAM [ARGUMENTS]]"));
  command->footer(
      "muster config takes the flags of muster run that describe the job, shows the value of every "
      "key and where it comes from, and checks all profiles. It shows no values of variables.\n\n"
      "Examples:\n"
      "  muster config -P big --nproc-per-node 4\n"
      "  muster config --schema > muster.schema.json");
  add_described_options(*command, options->run);
  command->add_flag("--json", options->json, "Print the same as JSON");
  command->add_flag("--schema", options->schema, "Print a JSON schema of muster.yaml for editors");
  command->callback([options, command, &action, &program] {
    action = [options, command, &program] { return show_config(*command, *options, program); };
  });
}

}  // namespace muster::cli
