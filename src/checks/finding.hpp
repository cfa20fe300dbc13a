// Findings: what will go wrong. Rules derive them from Facts and Layout. All pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "facts/facts.hpp"
#include "facts/reach.hpp"
#include "facts/saved_state.hpp"
#include "hosts/cluster.hpp"
#include "layout/layout.hpp"

namespace muster::checks {

enum class Severity { kNote, kWarning, kError };

struct Finding {
  std::string id;  // in the failure catalogue
  Severity severity = Severity::kWarning;
  std::vector<std::string> hosts;  // in the cluster's order; empty for the whole cluster
  std::string what;                // one sentence without a full stop
  std::string evidence = {};       // what muster saw
  std::string fix = {};            // what to do, if possible with a command to paste
};

// Everything that a rule may use.
struct Scene {
  const layout::Job& job;
  const hosts::Cluster& cluster;
  std::span<const facts::Survey> surveys;  // one per host of the cluster, in its order
  const facts::Facts& launcher;
  const layout::Layout& layout;
  // The connections that muster tried between hosts; empty if it tried none.
  std::span<const facts::Trial> trials = {};
  // The saved states of the hosts that have one, in any order.
  std::span<const facts::SavedState> saved = {};
};

struct Rule {
  std::string_view name;  // for people and tests, such as "same-address"
  std::vector<Finding> (*judge)(const Scene& scene);
};

[[nodiscard]] std::span<const Rule> rules();

// The findings of all rules, errors first. Equal findings of several hosts are merged into one.
[[nodiscard]] std::vector<Finding> judge(const Scene& scene);

// Returns one line that tells the user which of the ranks' software was compared, and how
// thoroughly. Empty if none was.
[[nodiscard]] std::string compared_software(const Scene& scene);

// Returns one line that tells the user which hosts were compared with their saved states. Empty if
// no host answered.
[[nodiscard]] std::string compared_states(const Scene& scene);

[[nodiscard]] std::string to_json(const Finding& finding);  // one line
[[nodiscard]] Result<Finding> parse_finding(const std::string& json);
[[nodiscard]] nlohmann::ordered_json finding_schema();
// Returns the findings as a table for people. With `colours`, the severities are coloured.
[[nodiscard]] std::string to_text(std::span<const Finding> findings, bool colours = false);
[[nodiscard]] bool has_errors(std::span<const Finding> findings);

}  // namespace muster::checks
