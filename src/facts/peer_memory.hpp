// Finds out from files whether an RDMA card can access a GPU's memory.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// `kernel` is the kernel's release. It is part of the name of the file in /boot that lists the
// options with which the kernel was built. `root` is for tests.
[[nodiscard]] PeerMemory read_peer_memory(const std::string& kernel, const std::string& root = "");

}  // namespace muster::facts
