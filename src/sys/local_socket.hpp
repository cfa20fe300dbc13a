// Sockets between processes on one host, and passing descriptors through them.
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

// Returns an invalid descriptor if nobody listens there.
[[nodiscard]] Fd connect_locally(const std::string& path);

// The process at the other end, as of when it connected or began to listen; nothing if unknown.
[[nodiscard]] std::optional<ucred> peer_of(int socket);

// Sends copies of these descriptors to the process at the other end, with an empty line as the
// message.
void send_descriptors(int socket, std::span<const int> descriptors);

// Like read(2), but also appends the descriptors that came with the bytes.
[[nodiscard]] ssize_t read_with_descriptors(int socket, std::span<char> bytes,
                                            std::vector<Fd>& descriptors);

}  // namespace muster::sys
