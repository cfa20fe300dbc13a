// TCP sockets at numeric addresses. The address determines the family: "198.18.0.2", "fd00::2".
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::sys {

// Opens a non-blocking socket that listens at the address. With port 0 the kernel chooses a free
// port.
[[nodiscard]] Result<Fd> listen_tcp(const std::string& address, std::uint16_t port);

[[nodiscard]] int port_of(const Fd& socket);  // 0: the socket has no port

}  // namespace muster::sys
