// Network interfaces and routes, as the kernel tells them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// What the flags of an IPv6 address (IFA_F_*) mean for its use, as Address::caveat.
[[nodiscard]] std::string_view caveat_of(std::uint32_t flags);

// Cost: two questions to the kernel, and one for each interface's speed.
[[nodiscard]] Result<std::vector<Interface>> read_interfaces();

// The main table's routes; one for each way of a multipath route. None to link-local addresses.
[[nodiscard]] Result<std::vector<Route>> read_routes();

}  // namespace muster::facts
