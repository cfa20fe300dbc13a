// What hosts have differently from most hosts, item by item.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::checks {

// Values by name: versions of packages, hashes of libraries. Nothing: not known, so not compared.
using Items = std::map<std::string, std::optional<std::string>>;

struct HostItems {
  std::string host;
  Items items;
};

// One item; of the two values, one may be absent.
struct Difference {
  std::string name;
  std::optional<std::string> value;  // on these hosts
  std::optional<std::string> usual;  // on most hosts
  std::string usual_host = {};       // one that has the usual value

  friend bool operator==(const Difference&, const Difference&) = default;
};

// Hosts that differ from the usual ones in the same way.
struct Deviation {
  std::vector<std::string> hosts;
  std::vector<Difference> differences;  // by name
  std::string usual_hosts = {};         // as HostGroups says it, of the first difference
};

// The usual value of each item is the one that most hosts have; of equally many, that of the first
// host. Cost: linear in hosts and items, and items that differ times hosts.
[[nodiscard]] std::vector<Deviation> deviations(std::span<const HostItems> hosts);

}  // namespace muster::checks
