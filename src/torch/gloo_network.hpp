// Chooses which of this host's addresses or interfaces Gloo uses. Does not depend on torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::gloo {

// Returns the names in GLOO_SOCKET_IFNAME, a comma-separated list; none if it is not set. If this
// host lacks one of them, throws and lists the interfaces that it has.
[[nodiscard]] std::vector<std::string> named_interfaces();

// Whether the interface has this address, which is written as address_towards() returns it.
[[nodiscard]] bool has_address(const std::string& interface, const std::string& address);

// Whether the address is "localhost", 127.x.y.z or ::1. If the master has such an address, this
// process is on the master's host.
[[nodiscard]] bool is_loopback(const std::string& address);

// Returns this host's address on the route to the master, at which other hosts reach it. Throws if
// `master` does not resolve, if there is no route, or if `master` resolves only to loopback
// addresses on this host, as with Debian's "127.0.1.1 own-name" in /etc/hosts.
[[nodiscard]] std::string address_towards(const std::string& master, int port);

}  // namespace muster::gloo
