// Makes ssh keys.
#pragma once

#include <string>

#include "base/error.hpp"

namespace muster::setup {

// Makes an ed25519 key pair without passphrase: `path` (mode 0600) and `path`.pub. The private key
// gets its name last, in one step. So if it exists, both files are complete. Replaces old files.
[[nodiscard]] Result<void> make_key_pair(const std::string& path, const std::string& comment);

}  // namespace muster::setup
