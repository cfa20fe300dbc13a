// The TCP connections of processes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "inspect/inspection.hpp"

namespace muster::inspect {

constexpr std::size_t kMostConnections = 256;  // per rank

// A socket as the kernel describes it at one moment.
struct SocketLook {
  std::uint64_t inode = 0;
  Connection connection = {};  // fields that need two observations are not set
  bool listens = false;
  std::int64_t retransmitted = 0;  // segments sent again since the connection began
  std::uint64_t moved = 0;         // bytes received or acknowledged since the connection began
  std::int64_t busy_us = 0;        // time with unacknowledged data since the connection began

  friend bool operator==(const SocketLook&, const SocketLook&) = default;
};
using SocketLooks = std::map<std::uint64_t, SocketLook>;  // by inode

// Adds the sockets in one answer of the kernel's socket monitor. Returns true if it was the last
// answer.
[[nodiscard]] Result<bool> take_sockets(std::string_view bytes, SocketLooks& looks);

// Adds the sockets in a /proc/net/tcp or tcp6, which contains less information.
void take_tcp_table(std::string_view text, SocketLooks& looks);

// Returns one rank's connections and what happened on them between two looks. Leaves out
// inconspicuous connections over loopback. If there are too many, keeps the conspicuous ones.
[[nodiscard]] std::vector<Connection> compare_sockets(const std::set<std::uint64_t>& inodes,
                                                      const SocketLooks& before,
                                                      const SocketLooks& after, double window_s);

// Returns the TCP sockets in this process's network namespace. Cost: one query to the kernel per IP
// version.
[[nodiscard]] Result<SocketLooks> look_at_sockets();

// Returns those in the network namespace of a process, with less information; see take_tcp_table.
[[nodiscard]] SocketLooks look_at_sockets_of(pid_t pid);

// Returns the inodes of the sockets that these processes have open. Cost: one readlink per open
// file.
[[nodiscard]] std::set<std::uint64_t> socket_inodes(std::span<const pid_t> pids);

}  // namespace muster::inspect
