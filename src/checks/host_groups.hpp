// Groups hosts by a property.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::checks {

struct HostGroup {
  std::string key;
  std::vector<std::string> hosts;
};

// Groups are in the order of their first hosts. Cost: constant per added host.
class HostGroups {
 public:
  void add(const std::string& key, const std::string& host);

  [[nodiscard]] const std::vector<HostGroup>& all() const { return groups_; }
  // The largest group, which has the usual value; of equally large ones, the first. Cost: linear in
  // groups.
  [[nodiscard]] const HostGroup& usual() const;
  // Returns "most hosts" if the usual group has more than half of the hosts. Otherwise returns the
  // names of its hosts, because neither of two hosts is "most hosts". Cost: linear in hosts.
  [[nodiscard]] std::string usual_hosts() const;
  [[nodiscard]] std::vector<HostGroup> odd() const;  // all but the usual one

 private:
  std::vector<HostGroup> groups_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace muster::checks
