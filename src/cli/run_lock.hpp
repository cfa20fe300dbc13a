// Ensures what must be true before an earlier run is started again: no other process is doing the
// same, and the last attempt has ended.
#pragma once

#include <string>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::cli {

// Keeps other muster processes from starting the run again as long as the descriptor is open.
[[nodiscard]] Result<sys::Fd> lock_run(const std::string& base);

// Waits until nothing of the attempt is left on this machine. If muster was killed, the attempt's
// keeper ends what is left within seconds.
[[nodiscard]] Result<void> await_end(const std::string& attempt);

}  // namespace muster::cli
