#include "facts/users.hpp"

#include "facts/pseudo_file.hpp"
#include "sys/process.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kMaxPasswdBytes = std::size_t{4} << 20;

}  // namespace

Users parse_passwd(std::string_view text) {
  Users users;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 6) continue;
    const auto uid = number<unsigned>(parts[2]);
    const auto gid = number<unsigned>(parts[3]);
    if (!uid || !gid || parts[0].empty()) continue;
    users.try_emplace(
        *uid, User{.name = std::string(parts[0]), .home = std::string(parts[5]), .gid = *gid});
  }
  return users;
}

Users read_users(unsigned uid, std::chrono::milliseconds deadline) {
  Users users = parse_passwd(read_start("/etc/passwd", kMaxPasswdBytes).value_or(""));
  if (users.contains(uid)) return users;
  const auto asked =
      sys::run({.argv = {"getent", "passwd", std::to_string(uid)}, .deadline = deadline});
  if (asked) users.merge(parse_passwd(asked->out));
  return users;
}

std::string name_of(const Users& users, unsigned uid) {
  const auto found = users.find(uid);
  return found == users.end() ? std::to_string(uid) : found->second.name;
}

}  // namespace muster::facts
