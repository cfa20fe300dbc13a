// Findings: what will go wrong. Rules over Facts and Layout, all pure.
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
  std::string id;  // of the failure catalogue
  Severity severity = Severity::kWarning;
  std::vector<std::string> hosts;  // in the cluster's order; empty: the whole cluster
  std::string what;                // one sentence without a full stop
  std::string evidence = {};       // what was seen
  std::string fix = {};            // what to do, a command to paste where there is one
};

// All that a rule may look at.
struct Scene {
  const layout::Job& job;
  const hosts::Cluster& cluster;
  std::span<const facts::Survey> surveys;  // one a host of the cluster, in its order
  const facts::Facts& launcher;
  const layout::Layout& layout;
  std::span<const facts::Trial> trials = {};  // connections between hosts; empty: none was tried
  std::span<const facts::SavedState> saved = {};  // of the hosts that have one, in any order
};

struct Rule {
  std::string_view name;  // for people and tests: "same-address"
  std::vector<Finding> (*judge)(const Scene& scene);
};

[[nodiscard]] std::span<const Rule> rules();

// What all rules find, errors first, equal findings of several hosts as one.
[[nodiscard]] std::vector<Finding> judge(const Scene& scene);

// What was compared of the software that the ranks load, and how well, for people: one line. Empty:
// nothing was.
[[nodiscard]] std::string compared_software(const Scene& scene);

// Which hosts were compared with their saved states, for people: one line. Empty: no host answered.
[[nodiscard]] std::string compared_states(const Scene& scene);

[[nodiscard]] std::string to_json(const Finding& finding);  // one line
[[nodiscard]] Result<Finding> parse_finding(const std::string& json);
[[nodiscard]] nlohmann::ordered_json finding_schema();
// The table for people; `colours` mark its severities.
[[nodiscard]] std::string to_text(std::span<const Finding> findings, bool colours = false);
[[nodiscard]] bool has_errors(std::span<const Finding> findings);

}  // namespace muster::checks
