#include "sys/tcp.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "base/printable.hpp"

namespace muster::sys {

const sockaddr* TcpAddress::get() const {
  return reinterpret_cast<const sockaddr*>(&bytes);
}

TcpAddress tcp_address(const std::string& text, std::uint16_t port) {
  TcpAddress address;
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = ::htons(port)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = ::htons(port)};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    std::memcpy(&address.bytes, &v4, address.length = sizeof v4);
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    std::memcpy(&address.bytes, &v6, address.length = sizeof v6);
  }
  return address;
}

Result<Fd> listen_tcp(const std::string& address, std::uint16_t port) {
  const TcpAddress at = tcp_address(address, port);
  Fd socket(::socket(at.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), at.get(), at.length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    return unexpected(
        system_error(fmt::format("cannot listen at {} port {}", printable(address), port)));
  }
  return socket;
}

int port_of(const Fd& socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) return 0;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  std::memcpy(&v4, &own, sizeof v4);
  std::memcpy(&v6, &own, sizeof v6);
  return ::ntohs(own.ss_family == AF_INET6 ? v6.sin6_port : v4.sin_port);
}

}  // namespace muster::sys
