// How a run ended, said where scripts look for it: on the last line and in the file of --status.
#pragma once

#include <string>

#include "base/error.hpp"
#include "run/ending.hpp"

namespace muster::cli {

// Removes what an earlier run left in the file. Returns its absolute path. An empty path stays one:
// no file is wanted, here and below.
[[nodiscard]] Result<std::string> prepare_status(const std::string& path);

// An Error is an end too.
[[nodiscard]] run::Ending ending_of(const Result<run::Ending>& result);

[[nodiscard]] Result<void> begin_status(const std::string& path, const std::string& run_id);

// Says whose exit code it is, unless another process of muster's does. An Error that is left is a
// usage error.
[[nodiscard]] Result<int> conclude(const Result<run::Ending>& result, const std::string& path,
                                   const std::string& run_id);

}  // namespace muster::cli
