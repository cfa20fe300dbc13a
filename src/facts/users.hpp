// Names of users. A static binary cannot ask the C library: its modules are shared ones.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

struct User {
  std::string name;
  std::string home;
  unsigned gid = 0;
};

using Users = std::map<unsigned, User>;  // by uid

// The lines of an /etc/passwd, or of what `getent passwd` prints; the first of a uid counts.
[[nodiscard]] Users parse_passwd(std::string_view text);

// The users of /etc/passwd and, when `uid` is none of them, what getent (LDAP and the like) knows
// of it.
[[nodiscard]] Users read_users(unsigned uid, std::chrono::milliseconds deadline);

// Its name, or its number where nobody knows the name.
[[nodiscard]] std::string name_of(const Users& users, unsigned uid);

}  // namespace muster::facts
