// Network interfaces and routes, as the kernel reports them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// The properties of an interface that decide its kind.
struct Link {
  int index = 0;
  std::string name = {};
  unsigned flags = 0;     // IFF_*
  int hardware = 0;       // ARPHRD_*
  std::string made = {};  // "veth", "bridge", "dummy", ...; empty: hardware
  int master = 0;         // index of its bridge or bond; 0: none
  int mtu = 0;
};

// The kind of each link, in the same order. The kind of a bridge depends on its members.
[[nodiscard]] std::vector<InterfaceKind> kinds_of(const std::vector<Link>& links);

// Whether the interface is up and leads out of the host, unlike a loopback interface or a bridge
// inside the host.
[[nodiscard]] bool leads_out(const Interface& interface);

// The restriction (see Address::caveat) that the flags of an IPv6 address (IFA_F_*) express.
[[nodiscard]] std::string_view caveat_of(std::uint32_t flags);

// Cost: two queries to the kernel, and one for the speed of each interface.
[[nodiscard]] Result<std::vector<Interface>> read_interfaces();

// The routes of the main table. A multipath route gives one per path. Leaves out link-local routes.
[[nodiscard]] Result<std::vector<Route>> read_routes();

}  // namespace muster::facts
