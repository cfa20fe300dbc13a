#include "checks/reach_wording.hpp"

#include <fmt/format.h>

#include "checks/wording.hpp"
#include "hosts/fold.hpp"

namespace muster::checks {
namespace {

using facts::Reached;
using facts::Trial;
using Ports = std::set<int>;

std::string ports_text(const Ports& ports) {
  std::vector<std::string> texts;
  for (const int port : ports) texts.push_back(std::to_string(port));
  return (texts.size() == 1 ? "port " : "ports ") + listed(texts, 4);
}

// Describes how the connections to one host ended.
std::string ends_text(const std::string& host, const std::map<Reached, Ports>& ends) {
  std::string text;
  for (const auto& [how, ports] : ends) {
    if (how == Reached::kYes) continue;
    text += text.empty()
                ? fmt::format("connections to {} of {} {}", ports_text(ports), host, verb_for(how))
                : fmt::format(", to {} {}", ports_text(ports), verb_for(how));
  }
  const auto good = ends.find(Reached::kYes);
  return good == ends.end() ? text : text + fmt::format(", to {} work", ports_text(good->second));
}

}  // namespace

bool is_blocked(Reached how) {
  return how == Reached::kRefused || how == Reached::kTimedOut || how == Reached::kNoRoute ||
         how == Reached::kCutOff;
}

std::string_view verb_for(Reached how) {
  switch (how) {
    case Reached::kRefused:
      return "are refused";
    case Reached::kTimedOut:
      return "time out";
    case Reached::kNoRoute:
      return "end with \"no route to host\"";
    case Reached::kCutOff:
      return "are accepted and then cut off";
    case Reached::kLargeLost:
      return "lose large packets";
    case Reached::kYes:
    case Reached::kUntried:
      break;
  }
  return "work";
}

Reachability::Reachability(const Scene& scene) : scene_(scene) {
  for (const Trial& trial : scene.trials) {
    const std::size_t hosts = scene.cluster.hosts.size();
    // This also skips connections to the launcher, whose number facts::kLauncher is larger.
    if (trial.from >= hosts || trial.to >= hosts) continue;
    const HostPair pair(trial.from, trial.to);
    trials_[pair].push_back(&trial);
    tried_.insert(pair);
    if (is_blocked(trial.how)) blocked_.insert(pair);
    if (trial.how == Reached::kLargeLost) large_lost_.insert(pair);
  }
}

std::string Reachability::blocked_text(const HostPairs& pairs) const {
  std::map<std::size_t, std::map<Reached, Ports>> ends_by_target;
  for (const HostPair& pair : pairs) {
    for (const Trial* trial : trials_.at(pair)) {
      const bool counts = is_blocked(trial->how) || trial->how == Reached::kYes;
      if (counts) ends_by_target[pair.second][trial->how].insert(trial->port);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [target, ends] : ends_by_target) {
    texts.push_back(ends_text(scene_.cluster.hosts[target].name, ends));
  }
  return listed(texts, 3);
}

std::vector<std::string> Reachability::names(const HostNumbers& hosts) const {
  std::vector<std::string> names;
  for (const std::size_t host : hosts) names.push_back(scene_.cluster.hosts[host].name);
  return names;
}

std::string Reachability::folded(const HostNumbers& hosts) const {
  return hosts::fold(names(hosts));
}

}  // namespace muster::checks
