// TCP sockets at numeric addresses. The family follows from the address: "198.18.0.2", "fd00::2".
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::sys {

struct TcpAddress {
  sockaddr_storage bytes = {};
  socklen_t length = 0;  // 0: the text is no address

  [[nodiscard]] const sockaddr* get() const;
};

[[nodiscard]] TcpAddress tcp_address(const std::string& text, std::uint16_t port);

// A non-blocking socket that listens there; port 0: the kernel chooses one.
[[nodiscard]] Result<Fd> listen_tcp(const std::string& address, std::uint16_t port);

[[nodiscard]] int port_of(const Fd& socket);  // 0: it has none

}  // namespace muster::sys
