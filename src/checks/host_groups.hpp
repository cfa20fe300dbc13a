// Hosts by what they have in common.
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

// Groups in the order in which their first host came. Cost: constant for each host added.
class HostGroups {
 public:
  void add(const std::string& key, const std::string& host);

  [[nodiscard]] const std::vector<HostGroup>& all() const { return groups_; }
  // The largest, of equal ones the first: what most hosts have. Cost: linear in groups.
  [[nodiscard]] const HostGroup& usual() const;
  // "most hosts" where they are, else their names: of two hosts neither is the usual one. Cost:
  // linear in hosts.
  [[nodiscard]] std::string usual_hosts() const;
  [[nodiscard]] std::vector<HostGroup> odd() const;  // all others

 private:
  std::vector<HostGroup> groups_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace muster::checks
