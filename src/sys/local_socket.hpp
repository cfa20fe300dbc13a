// Sockets between processes of one host, and descriptors that they pass to each other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::sys {

// The socket is non-blocking and replaces one that already exists at this path.
[[nodiscard]] Result<Fd> listen_locally(const std::string& path);

// Invalid if nobody listens there.
[[nodiscard]] Fd connect_locally(const std::string& path);

// The process at the other end, as it was when it connected or began to listen; nothing: not told.
[[nodiscard]] std::optional<ucred> peer_of(int socket);

// Gives the process at the other end copies of these descriptors, with an empty line.
void send_descriptors(int socket, std::span<const int> descriptors);

// Like read(2). Adds the descriptors that came with the bytes.
[[nodiscard]] ssize_t read_with_descriptors(int socket, std::span<char> bytes,
                                            std::vector<Fd>& descriptors);

}  // namespace muster::sys
