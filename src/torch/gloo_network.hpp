// Which of this host's addresses or interfaces Gloo is to use. No torch in here.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::gloo {

// The names in GLOO_SOCKET_IFNAME, a list with commas; empty where it is not set. Throws where this
// host has no such interface, and says which it has.
[[nodiscard]] std::vector<std::string> named_interfaces();

// Whether the interface has this address, written as address_towards() writes it.
[[nodiscard]] bool has_address(const std::string& interface, const std::string& address);

// "localhost", 127.x.y.z, ::1: whoever is told this is on the master's host.
[[nodiscard]] bool is_loopback(const std::string& address);

// Our address on the way to the master, which is what the other hosts reach us by. Throws where the
// name does not resolve, or means loopback here: Debian's "127.0.1.1 own-name" in /etc/hosts.
[[nodiscard]] std::string address_towards(const std::string& master, int port);

}  // namespace muster::gloo
