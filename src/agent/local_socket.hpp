// Sockets between processes of one run on one host, in the run's folder, which is ours alone.
#pragma once

#include <string>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// Does not block. Takes the place of a socket that is there already.
[[nodiscard]] Result<sys::Fd> listen_locally(const std::string& path);

// No descriptor: nobody listens there.
[[nodiscard]] sys::Fd connect_locally(const std::string& path);

}  // namespace muster::agent
