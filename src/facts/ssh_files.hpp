// The files that ssh and sshd refuse to use when others could have changed or read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "facts/users.hpp"

namespace muster::facts {

enum class SshFile {
  kTrusted,  // the home folder, ~/.ssh, authorized_keys: sshd's StrictModes
  kConfig,   // ~/.ssh/config
  kKey,      // a private key
};

// Why it is refused; empty: it is not. `uid` is the user's own. `trusts_group`: the file's group is
// the user alone, and this system's OpenSSH lets such a group write.
[[nodiscard]] std::string ssh_problem(SshFile file, int mode, int owner, int uid,
                                      bool trusts_group = false);

// Nobody but the user is in the group. `groups` is the text of /etc/group.
[[nodiscard]] bool is_private_group(unsigned gid, unsigned uid, const Users& users,
                                    std::string_view groups);

// Debian, Ubuntu and what is made from them change OpenSSH so that it trusts a private group.
[[nodiscard]] bool trusts_private_groups(std::string_view os_release);

// Those that exist below the home folder.
[[nodiscard]] std::vector<FileMode> read_ssh_files(const std::string& home, int uid,
                                                   const Users& users);

}  // namespace muster::facts
