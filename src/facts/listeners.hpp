// Listening TCP ports and the processes that own them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/users.hpp"

namespace muster::facts {

// A line of /proc/net/tcp or tcp6.
struct ListeningSocket {
  std::string address;
  int port = 0;
  unsigned uid = 0;
  unsigned long inode = 0;
};

// The listening sockets. The kernel lists them first, so parsing stops at the first other socket.
[[nodiscard]] std::vector<ListeningSocket> parse_listening(std::string_view text);

struct Listeners {
  std::vector<Listener> list;
  std::string not_seen;  // why owners are missing; empty: all visible files were examined
};

// Cost: examines the open files of all visible processes once, if there are listeners. Stops after
// 300 ms.
[[nodiscard]] Result<Listeners> read_listeners(const Users& users,
                                               const std::string& proc = "/proc");

}  // namespace muster::facts
