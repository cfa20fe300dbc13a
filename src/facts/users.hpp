// Names of users. A static binary cannot ask the C library, which would have to load shared modules
// for this.
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

// Parses an /etc/passwd or the output of `getent passwd`. The first entry of a uid counts.
[[nodiscard]] Users parse_passwd(std::string_view text);

// The users in /etc/passwd. If `uid` is not among them, adds what getent (LDAP and the like) knows
// about it.
[[nodiscard]] Users read_users(unsigned uid, std::chrono::milliseconds deadline);

// The name of the user, or the number if the name is unknown.
[[nodiscard]] std::string name_of(const Users& users, unsigned uid);

}  // namespace muster::facts
