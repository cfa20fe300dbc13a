// Chooses which of this host's addresses or interfaces Gloo uses. Does not depend on torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::gloo {

// The names in GLOO_SOCKET_IFNAME, a comma-separated list; empty if it is not set. If this host has
// no such interface, throws and lists the interfaces that it has.
[[nodiscard]] std::vector<std::string> named_interfaces();

// Whether the interface has this address, in the form that address_towards() returns.
[[nodiscard]] bool has_address(const std::string& interface, const std::string& address);

// "localhost", 127.x.y.z or ::1. If that is the master's address, this process is on the master's
// host.
[[nodiscard]] bool is_loopback(const std::string& address);

// Our address on the route to the master, at which other hosts reach us. Throws if the name does
// not resolve, or resolves to loopback on this host, as with Debian's "127.0.1.1 own-name" in
// /etc/hosts.
[[nodiscard]] std::string address_towards(const std::string& master, int port);

}  // namespace muster::gloo
