// Finds hosts that differ from most hosts by comparing one item after the other.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::checks {

// Values by name, such as versions of packages or hashes of libraries. std::nullopt means that the
// value is unknown; it is not compared.
using Items = std::map<std::string, std::optional<std::string>>;

struct HostItems {
  std::string host;
  Items items;
};

// How one item differs. One of the two values is absent if those hosts do not have the item.
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
  // The hosts with the usual value of the first difference, as HostGroups::usual_hosts names them.
  std::string usual_hosts = {};
};

// The usual value of an item is the one that most hosts have; if several are equally frequent, that
// of the first host. Cost: linear in hosts and items, plus differing items times hosts.
[[nodiscard]] std::vector<Deviation> deviations(std::span<const HostItems> hosts);

}  // namespace muster::checks
