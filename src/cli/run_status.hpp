// Reports how a run ended where scripts look for it: in the last line and in the file of --status.
#pragma once

#include <string>

#include "base/error.hpp"
#include "run/ending.hpp"

namespace muster::cli {

// Removes what an earlier run left in the file. Returns its absolute path. Here and below, an empty
// path means that no file is wanted.
[[nodiscard]] Result<std::string> prepare_status(const std::string& path);

// An Error becomes an Ending too.
[[nodiscard]] run::Ending ending_of(const Result<run::Ending>& result);

[[nodiscard]] Result<void> begin_status(const std::string& path, const std::string& run_id);

// Returns the exit code. Before that, writes the file and prints whose exit code it is, unless
// another muster process has done so. Prints every Error itself except a usage error, which it
// returns.
[[nodiscard]] Result<int> conclude(const Result<run::Ending>& result, const std::string& path,
                                   const std::string& run_id);

}  // namespace muster::cli
