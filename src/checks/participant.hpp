// The hosts that rules examine.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

// A host that gets ranks and whose facts are known.
struct Participant {
  const layout::Placement* placement = nullptr;
  const facts::Survey* survey = nullptr;
  const facts::Facts* facts = nullptr;

  [[nodiscard]] const std::string& name() const { return placement->host; }
};

// Returns the participants in the cluster's order. Cost: linear in hosts.
[[nodiscard]] std::vector<Participant> participants(const Scene& scene);

using SurveysByName = std::unordered_map<std::string_view, const facts::Survey*>;
[[nodiscard]] SurveysByName surveys_by_name(const Scene& scene);

// Whether the probe with this name succeeded.
[[nodiscard]] bool was_seen(const facts::Facts& facts, std::string_view what);

}  // namespace muster::checks
