// Explains why a run failed, from the files in its folder.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/run_ending.hpp"
#include "explain/scan.hpp"
#include "run/record.hpp"

namespace muster::cli {

// The file with kernel messages of the hosts during the run, such as "n2 Out of memory: ...".
constexpr const char* kKernelFile = "kernel";

enum class Reading {
  kEverything,
  kEnds,  // only the beginning and end of each file, within a short time
};

// `summary` is that of the run's record; nothing if there is no record yet.
[[nodiscard]] Result<ExplainedRun> explain_folder(const std::string& folder,
                                                  const std::optional<run::Summary>& summary,
                                                  Reading reading);

// Scans the whole file; "-" is standard input. `name` is the user's name for it.
[[nodiscard]] Result<void> scan_file(explain::Scan& scan, const std::string& path,
                                     const std::string& name);

}  // namespace muster::cli
