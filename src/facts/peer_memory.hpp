// Whether an RDMA card can reach a GPU's memory, as far as files tell.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// `kernel` is its release, which names the file of its options in /boot. `root` is for tests.
[[nodiscard]] PeerMemory read_peer_memory(const std::string& kernel, const std::string& root = "");

}  // namespace muster::facts
