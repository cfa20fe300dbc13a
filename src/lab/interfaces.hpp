// Network settings that a process of the lab makes or reads directly through the kernel, without
// programs.
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// Gives an interface in the calling process's network namespace these addresses, at most one of
// each family, and sets it up. IPv6 addresses can be used at once, without duplicate detection.
[[nodiscard]] Result<void> bring_up(const std::string& name,
                                    std::span<const HostAddress> addresses);

// The inode of the IPv4 socket that listens on `port` in the network namespace of process `pid`; 0
// if there is none.
[[nodiscard]] unsigned long listening_socket(pid_t pid, int port);

}  // namespace muster::lab
