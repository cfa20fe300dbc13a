#include "agent/rank_environment.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/printable.hpp"
#include "engines/kind.hpp"

namespace muster::agent {
namespace {

// For these variables the engine's values win over those of the activation. For example, Slurm
// chooses the devices of each task.
constexpr std::array<std::string_view, 5> kEngineNames = {
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
    "PWD"};
constexpr std::array<std::string_view, 12> kAgentNames = {
    "RANK",        "WORLD_SIZE",       "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
    "MASTER_ADDR", "GROUP_WORLD_SIZE", "ROLE_RANK",  "ROLE_WORLD_SIZE",  "ROLE_NAME",
    "MASTER_PORT", "OMP_NUM_THREADS"};

template <class Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_engines(std::string_view name, const rankenv::Rank& rank) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  for (const engines::Kind& kind : engines::all()) {
    if (std::any_of(kind.variables.begin(), kind.variables.end(), begins)) return true;
  }
  if (begins("MUSTER_") || holds(kEngineNames, name)) return true;
  return rank.under_agent && (name.starts_with("TORCHELASTIC_") || holds(kAgentNames, name));
}

void set_unless_there(Composed& composed, const std::string& name, const std::string& value) {
  const auto [entry, is_new] = composed.environment.emplace(name, value);
  if (is_new || entry->second == value) return;
  composed.kept.push_back(
      fmt::format("{}={} (not {})", name, printable(entry->second.substr(0, 100)), value));
}

}  // namespace

Environment parse_environment(std::string_view text) {
  Environment environment;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view entry = text.substr(0, end);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      environment.insert_or_assign(std::string(entry.substr(0, equals)),
                                   std::string(entry.substr(equals + 1)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return environment;
}

Environment lay_over(Environment activated, const Environment& inherited,
                     const rankenv::Rank& rank) {
  for (const auto& [name, value] : inherited) {
    if (is_engines(name, rank)) activated.insert_or_assign(name, value);
  }
  const auto take_over = [&](const char* list, bool wins) {
    const auto names = inherited.find(list);
    if (names == inherited.end()) return;
    for (const std::string& name : listed_names(names->second)) {
      const auto found = inherited.find(name);
      if (found == inherited.end()) continue;
      if (wins) activated.insert_or_assign(name, found->second);
      if (!wins) activated.emplace(name, found->second);
    }
  };
  take_over("MUSTER_FORWARD", true);
  take_over("MUSTER_DEFAULT", false);
  return activated;
}

Composed compose(Environment base, const Wishes& wishes) {
  Composed composed{.environment = std::move(base)};
  for (const auto& [name, value] : rankenv::variables(wishes.rank, wishes.run_id)) {
    if (value) {
      composed.environment.insert_or_assign(name, *value);
    } else {
      composed.environment.erase(name);
    }
  }
  if (!wishes.run_id.empty()) {
    composed.environment.insert_or_assign("MUSTER_RUN_ID", wishes.run_id);
  }
  if (wishes.recorders.empty()) {
    composed.environment.erase("MUSTER_RECORDERS");  // set by an enclosing run
  } else {
    composed.environment.insert_or_assign("MUSTER_RECORDERS", wishes.recorders);
  }
  if (wishes.restarts) {  // torchrun, with its own restarts off, would set 0
    composed.environment.insert_or_assign("TORCHELASTIC_RESTART_COUNT",
                                          std::to_string(wishes.restarts->made));
    composed.environment.insert_or_assign("TORCHELASTIC_MAX_RESTARTS",
                                          std::to_string(wishes.restarts->most));
  }
  if (wishes.master && !wishes.rank.under_agent) {
    set_unless_there(composed, "MASTER_ADDR", wishes.master->address);
    set_unless_there(composed, "MASTER_PORT", wishes.master->port);
  }
  if (wishes.join_store) {  // torchrun sets the same for its ranks
    composed.environment.insert_or_assign("TORCHELASTIC_USE_AGENT_STORE", "True");
    composed.environment.emplace("TORCHELASTIC_RESTART_COUNT", "0");
  }
  for (const auto& [name, value] : wishes.network) set_unless_there(composed, name, value);
  if (wishes.unbuffered) composed.environment.emplace("PYTHONUNBUFFERED", "1");
  return composed;
}

}  // namespace muster::agent
