// An IPv4 or IPv6 address with a port, in the form that system calls take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>

namespace muster::sys {

struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t length = sizeof bytes;

  [[nodiscard]] int family() const { return bytes.ss_family; }
  [[nodiscard]] const sockaddr* pointer() const;
  [[nodiscard]] sockaddr* pointer();
  [[nodiscard]] int port() const;
};

// Nothing for a host name or for an address with a zone.
[[nodiscard]] std::optional<SocketAddress> parse_socket_address(const std::string& ip,
                                                                std::uint16_t port);

}  // namespace muster::sys
