// Listening TCP ports and who holds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/users.hpp"

namespace muster::facts {

// One line of /proc/net/tcp or tcp6.
struct ListeningSocket {
  std::string address;
  int port = 0;
  unsigned uid = 0;
  unsigned long inode = 0;
};

// The listening ones, which the kernel lists first: reading ends at the first other one.
[[nodiscard]] std::vector<ListeningSocket> parse_listening(std::string_view text);

struct Listeners {
  std::vector<Listener> list;
  std::string not_seen;  // why owners are missing; empty: all was looked at that we may see
};

// Cost: the open files of all processes that we may look at, once, and only when there are
// listeners; given up after 300 ms.
[[nodiscard]] Result<Listeners> read_listeners(const Users& users,
                                               const std::string& proc = "/proc");

}  // namespace muster::facts
