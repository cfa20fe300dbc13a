// Network interfaces and IPv4 routes, as the kernel tells them.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// What the kernel says of an interface that bears on its kind.
struct Link {
  int index = 0;
  std::string name = {};
  unsigned flags = 0;     // IFF_*
  int hardware = 0;       // ARPHRD_*
  std::string made = {};  // "veth", "bridge", "dummy", ...; empty: by a driver for hardware
  int master = 0;         // index of the bridge or bond it is in; 0: none
  int mtu = 0;
};

// The kind of each link, in the same order. A bridge is judged by what is in it.
[[nodiscard]] std::vector<InterfaceKind> kinds_of(const std::vector<Link>& links);

// Up, and traffic leaves the host through it: not loopback, not a bridge inside the host.
[[nodiscard]] bool leads_out(const Interface& interface);

// Cost: two questions to the kernel, and one for each interface's speed.
[[nodiscard]] Result<std::vector<Interface>> read_interfaces();

// The main table's IPv4 routes; one for each way of a multipath route.
[[nodiscard]] Result<std::vector<Route>> read_routes();

}  // namespace muster::facts
