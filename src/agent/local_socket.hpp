// Sockets between one run's processes on a host, in the run's folder, which only its user can open.
#pragma once

#include <string>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// The socket is non-blocking and replaces one that already exists at this path.
[[nodiscard]] Result<sys::Fd> listen_locally(const std::string& path);

// Invalid if nobody listens there.
[[nodiscard]] sys::Fd connect_locally(const std::string& path);

}  // namespace muster::agent
