#include "sys/tcp.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "sys/socket_address.hpp"

namespace muster::sys {

Result<Fd> listen_tcp(const std::string& address, std::uint16_t port) {
  const SocketAddress at = parse_socket_address(address, port).value_or(SocketAddress{});
  Fd socket(::socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), at.pointer(), at.length) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return unexpected(
        system_error(fmt::format("cannot listen at {} port {}", printable(address), port)));
  }
  return socket;
}

int port_of(const Fd& socket) {
  SocketAddress own;
  return ::getsockname(socket.get(), own.pointer(), &own.length) == 0 ? own.port() : 0;
}

}  // namespace muster::sys
