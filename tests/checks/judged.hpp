// The findings of the rules for a World.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/finding.hpp"
#include "hosts/fold.hpp"
#include "layout/world.hpp"

namespace muster::checks {

using layout::good_world;
using layout::good_world_with_program;
using layout::World;

inline std::vector<Finding> judged(const World& world) {
  const layout::Layout layout = world.layout();
  return judge({world.job, world.cluster, world.surveys, world.launcher, layout});
}

// Returns all findings, as in "error n2 some-id; note all other-id", so that a test also notices
// unexpected ones.
inline std::string brief(const World& world) {
  std::string text;
  for (const Finding& finding : judged(world)) {
    if (!text.empty()) text += "; ";
    text += finding.severity == Severity::kError     ? "error "
            : finding.severity == Severity::kWarning ? "warning "
                                                     : "note ";
    text += finding.hosts.empty() ? "all" : hosts::fold(finding.hosts);
    text += ' ' + finding.id;
  }
  return text;
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace muster::checks
