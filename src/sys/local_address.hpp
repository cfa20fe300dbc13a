// Addresses of Unix sockets in the file system.
#pragma once

#include <optional>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

namespace muster::sys {

// Nothing if the path is too long for a socket.
[[nodiscard]] std::optional<sockaddr_un> local_address(const std::string& path);

[[nodiscard]] const sockaddr* as_sockaddr(const sockaddr_un& address);

}  // namespace muster::sys
