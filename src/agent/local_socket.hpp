// Sockets between one run's processes on a host, in the run's folder, which only its user can open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// The socket is non-blocking and replaces one that already exists at this path.
[[nodiscard]] Result<sys::Fd> listen_locally(const std::string& path);

// Invalid if nobody listens there.
[[nodiscard]] sys::Fd connect_locally(const std::string& path);

// Gives the process at the other end copies of these descriptors, with an empty line.
void send_descriptors(int socket, std::span<const int> descriptors);

// Like read(2). Adds the descriptors that came with the bytes.
[[nodiscard]] ssize_t read_with_descriptors(int socket, std::span<char> bytes,
                                            std::vector<sys::Fd>& descriptors);

}  // namespace muster::agent
