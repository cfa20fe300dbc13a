// The few questions to the kernel's network that a host of the lab asks for itself.
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// Gives the interface of the calling process's network these addresses, one of each family at most,
// and sets it up. IPv6 addresses are usable at once: nobody looks for duplicates first.
[[nodiscard]] Result<void> bring_up(const std::string& name,
                                    std::span<const HostAddress> addresses);

// The inode of the IPv4 socket that listens on `port` in the network of process `pid`; 0: none.
[[nodiscard]] unsigned long listening_socket(pid_t pid, int port);

}  // namespace muster::lab
