#include "checks/participant.hpp"

#include <algorithm>

namespace muster::checks {

SurveysByName surveys_by_name(const Scene& scene) {
  SurveysByName by_name;
  for (const facts::Survey& survey : scene.surveys) by_name.emplace(survey.host, &survey);
  return by_name;
}

std::vector<Participant> participants(const Scene& scene) {
  const SurveysByName by_name = surveys_by_name(scene);
  std::vector<Participant> all;
  for (const layout::Placement& placement : scene.layout.placements) {
    const auto found = by_name.find(placement.host);
    if (found == by_name.end() || !found->second->facts) continue;
    all.push_back({&placement, found->second, &*found->second->facts});
  }
  return all;
}

bool was_seen(const facts::Facts& facts, std::string_view what) {
  return std::none_of(facts.not_seen.begin(), facts.not_seen.end(),
                      [&](const facts::NotSeen& one) { return one.what == what; });
}

}  // namespace muster::checks
