// The files that ssh and sshd refuse to use when others could have changed or read them.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

enum class SshFile {
  kTrusted,  // the home folder, ~/.ssh, authorized_keys: sshd's StrictModes
  kConfig,   // ~/.ssh/config
  kKey,      // a private key
};

// Why it is refused; empty: it is not. `uid` is the user's own.
[[nodiscard]] std::string ssh_problem(SshFile file, int mode, int owner, int uid);

// Those that exist below the home folder.
[[nodiscard]] std::vector<FileMode> read_ssh_files(const std::string& home, int uid);

}  // namespace muster::facts
