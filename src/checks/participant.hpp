// The hosts that rules look at.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

// A host that gets ranks and told what it is.
struct Participant {
  const layout::Placement* placement = nullptr;
  const facts::Survey* survey = nullptr;
  const facts::Facts* facts = nullptr;

  [[nodiscard]] const std::string& name() const { return placement->host; }
};

// In the cluster's order. Cost: linear in hosts.
[[nodiscard]] std::vector<Participant> participants(const Scene& scene);

using SurveysByName = std::unordered_map<std::string_view, const facts::Survey*>;
[[nodiscard]] SurveysByName surveys_by_name(const Scene& scene);

// Whether a probe of that name could look.
[[nodiscard]] bool was_seen(const facts::Facts& facts, std::string_view what);

}  // namespace muster::checks
