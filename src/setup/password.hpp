// The password that --password-file names.
#pragma once

#include <string>

#include "base/error.hpp"
#include "setup/secret.hpp"

namespace muster::setup {

// The first line of the file, "-" being standard input. A file that anybody else can read is
// refused; a pipe is not looked at.
[[nodiscard]] Result<Secret> read_password(const std::string& path);

}  // namespace muster::setup
