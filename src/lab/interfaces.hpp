// The few questions to the kernel's network that a host of the lab asks for itself.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

// Gives the interface of the calling process's network its address (none if empty), and sets it up.
[[nodiscard]] Result<void> bring_up(const std::string& name, const std::string& address,
                                    int prefix_length);

// The inode of the IPv4 socket that listens on `port` in the network of process `pid`; 0: none.
[[nodiscard]] unsigned long listening_socket(pid_t pid, int port);

}  // namespace muster::lab
