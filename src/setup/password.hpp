// Reads the password that --password-file names.
#pragma once

#include <string>

#include "base/error.hpp"
#include "setup/secret.hpp"

namespace muster::setup {

// Returns the first line of the file; "-" means standard input. Rejects a file that other users can
// read. The mode of a pipe is not checked.
[[nodiscard]] Result<Secret> read_password(const std::string& path);

}  // namespace muster::setup
