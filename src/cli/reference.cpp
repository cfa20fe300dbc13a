#include "cli/reference.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/exit_code.hpp"
#include "base/json.hpp"
#include "bench/results.hpp"
#include "checks/finding.hpp"
#include "cli/config_keys.hpp"
#include "cli/manual.hpp"
#include "cli/passed_variables.hpp"
#include "facts/saved_state.hpp"
#include "launch/plan.hpp"
#include "trainflags/help.hpp"
#include "why/verdict.hpp"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<trainflags::HelpGroup>& groups) {
  Json all = Json::array();
  for (const trainflags::HelpGroup& group : groups) {
    Json rows = Json::array();
    for (const trainflags::HelpRow& row : group.rows) {
      rows.push_back(
          {{"name", row.left.substr(row.left.find_first_not_of(' '))}, {"text", row.right}});
    }
    all.push_back({{"title", group.title}, {"rows", std::move(rows)}});
  }
  return all;
}

void add_command(const CLI::App& command, Json& all) {
  all.push_back({{"name", full_name(command)},
                 {"summary", command.get_description()},
                 {"usage", trainflags::usage_line(command, full_name(command))},
                 {"commands", json_of(trainflags::command_groups(command))},
                 {"flags", json_of(trainflags::option_groups(command))},
                 {"note", trainflags::note_about_seconds(command)},
                 {"more", command.get_footer()}});
  for (const CLI::App* one : command.get_subcommands({})) add_command(*one, all);
}

Json exit_codes() {
  Json all = Json::array();
  for (const ExitCode& one : kExitCodes) {
    all.push_back({{"code", one.code}, {"meaning", one.meaning}});
  }
  return all;
}

// The flag that has the same meaning as each key of muster.yaml.
Json config_flags() {
  Json all = Json::object();
  for (const ConfigKey& key : config_keys()) all[std::string(key.name)] = key.flag;
  return all;
}

// The output of `muster why --json` also names the directory of the evidence. The stored verdict,
// which is in that directory, does not.
Json why_schema() {
  Json schema = why::verdict_schema();
  schema["properties"]["evidence"] = {{"type", "string"}};
  return schema;
}

}  // namespace

std::string reference_json(const CLI::App& app) {
  Json commands = Json::array();
  add_command(app, commands);
  Json passed = Json::array();
  for (const std::string_view name : always_passed()) passed.push_back(name);
  const Json all = {{"commands", std::move(commands)},
                    {"exit_codes", exit_codes()},
                    {"passed_variables", std::move(passed)},
                    {"config", Json::parse(config_schema())},
                    {"config_flags", config_flags()},
                    {"schemas",
                     {{"bench-results", bench::results_schema()},
                      {"check-finding", checks::finding_schema()},
                      {"facts", facts::facts_schema()},
                      {"launch-plan", launch::plan_schema()},
                      {"saved-state", facts::saved_state_schema()},
                      {"why", why_schema()}}}};
  return json_text(all) + "\n";
}

}  // namespace muster::cli
