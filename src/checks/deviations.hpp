// Finds hosts that differ from most hosts, item by item.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::checks {

// Values by name, such as versions of packages or hashes of libraries. A value of nothing is
// unknown and not compared.
using Items = std::map<std::string, std::optional<std::string>>;

struct HostItems {
  std::string host;
  Items items;
};

// How one item differs. One of the two values may be absent.
struct Difference {
  std::string name;
  std::optional<std::string> value;  // on these hosts
  std::optional<std::string> usual;  // on most hosts
  std::string usual_host = {};       // a host that has the usual value

  friend bool operator==(const Difference&, const Difference&) = default;
};

// Hosts that differ from most hosts in the same way.
struct Deviation {
  std::vector<std::string> hosts;
  std::vector<Difference> differences;  // sorted by name
  // For the first difference, in the words of HostGroups::usual_hosts.
  std::string usual_hosts = {};
};

// The usual value of an item is the one that most hosts have; if several are equally frequent, that
// of the first host. Cost: linear in hosts and items, plus differing items times hosts.
[[nodiscard]] std::vector<Deviation> deviations(std::span<const HostItems> hosts);

}  // namespace muster::checks
