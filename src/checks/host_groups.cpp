#include "checks/host_groups.hpp"

#include <algorithm>

#include "hosts/fold.hpp"

namespace muster::checks {

void HostGroups::add(const std::string& key, const std::string& host) {
  const auto [at, is_new] = index_.emplace(key, groups_.size());
  if (is_new) groups_.push_back({.key = key});
  groups_[at->second].hosts.push_back(host);
}

const HostGroup& HostGroups::usual() const {
  static const HostGroup none;
  if (groups_.empty()) return none;
  return *std::max_element(groups_.begin(), groups_.end(),
                           [](const HostGroup& one, const HostGroup& two) {
                             return one.hosts.size() < two.hosts.size();
                           });
}

std::string HostGroups::usual_hosts() const {
  std::size_t count = 0;
  for (const HostGroup& group : groups_) count += group.hosts.size();
  const HostGroup& most = usual();
  return 2 * most.hosts.size() > count ? "most hosts" : hosts::fold(most.hosts);
}

std::vector<HostGroup> HostGroups::odd() const {
  std::vector<HostGroup> odd;
  const HostGroup* most = &usual();
  for (const HostGroup& group : groups_) {
    if (&group != most) odd.push_back(group);
  }
  return odd;
}

}  // namespace muster::checks
