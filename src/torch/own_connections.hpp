// The TCP connections of this process, as the kernel reports them.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>

namespace muster {

// Family, port and address: the beginning of a sockaddr. 8 bytes for IPv4, 24 for IPv6.
using SocketEnd = std::string;
constexpr std::size_t kEndBytes = 24;  // the longest SocketEnd

// Takes the bytes of a sockaddr, at least as many as a sockaddr_in6 has. Returns "" if there are
// fewer, or if the family is neither IPv4 nor IPv6.
[[nodiscard]] SocketEnd socket_end(const std::string& address);

struct Connection {
  SocketEnd local;
  SocketEnd peer;

  friend auto operator<=>(const Connection&, const Connection&) = default;
};

// Returns the established connections. Throws std::runtime_error if the kernel does not report
// them.
[[nodiscard]] std::set<Connection> own_connections();

}  // namespace muster
