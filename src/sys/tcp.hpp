// TCP sockets at numeric addresses. The family follows from the address: "198.18.0.2", "fd00::2".
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::sys {

// A non-blocking socket that listens there; port 0: the kernel chooses one.
[[nodiscard]] Result<Fd> listen_tcp(const std::string& address, std::uint16_t port);

[[nodiscard]] int port_of(const Fd& socket);  // 0: it has none

}  // namespace muster::sys
