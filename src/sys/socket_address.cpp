#include "sys/socket_address.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace muster::sys {

const sockaddr* SocketAddress::pointer() const {
  return reinterpret_cast<const sockaddr*>(&bytes);
}

sockaddr* SocketAddress::pointer() {
  return reinterpret_cast<sockaddr*>(&bytes);
}

int SocketAddress::port() const {
  sockaddr_in same_place{};  // the port has the same position in sockaddr_in6
  std::memcpy(&same_place, &bytes, sizeof same_place);
  return ::ntohs(same_place.sin_port);
}

std::optional<SocketAddress> parse_socket_address(const std::string& ip, std::uint16_t port) {
  SocketAddress address;
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = ::htons(port)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = ::htons(port)};
  if (::inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1) {
    std::memcpy(&address.bytes, &v4, address.length = sizeof v4);
  } else if (::inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) == 1) {
    std::memcpy(&address.bytes, &v6, address.length = sizeof v6);
  } else {
    return std::nullopt;
  }
  return address;
}

}  // namespace muster::sys
