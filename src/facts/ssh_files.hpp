// Finds files that ssh or sshd will not use because other users could have changed or read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/users.hpp"

namespace muster::facts {

enum class SshFile {
  kTrusted,  // home directory, ~/.ssh, authorized_keys: see StrictModes of sshd
  kConfig,   // ~/.ssh/config
  kKey,      // a private key
};

// Why the file is refused; empty if it is not. `uid` is the user's. `trusts_group` means that the
// file's group consists only of the user, and this system's OpenSSH lets such a group write.
[[nodiscard]] std::string ssh_problem(SshFile file, int mode, int owner, int uid,
                                      bool trusts_group = false);

// Whether the group consists only of the user. `groups` is the text of /etc/group.
[[nodiscard]] bool is_private_group(unsigned gid, unsigned uid, const Users& users,
                                    std::string_view groups);

// Debian, Ubuntu and derived systems modify OpenSSH so that it trusts such a group.
[[nodiscard]] bool trusts_private_groups(std::string_view os_release);

// Examines the user's home directory, ~/.ssh and the files in it that ssh or sshd checks. Leaves
// out those that do not exist.
[[nodiscard]] std::vector<FileMode> read_ssh_files(const std::string& home, int uid,
                                                   const Users& users);

}  // namespace muster::facts
