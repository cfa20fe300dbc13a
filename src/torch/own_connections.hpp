// The TCP connections of this process, as the kernel knows them.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>

namespace muster {

// Family, port and address as the kernel stores them (the beginning of a sockaddr): so a text that
// contains a whole sockaddr contains them too. At most kEndBytes.
constexpr std::size_t kEndBytes = 24;

struct Connection {
  std::string local;
  std::string peer;

  friend auto operator<=>(const Connection&, const Connection&) = default;
};

[[nodiscard]] std::set<Connection> own_connections();

}  // namespace muster
