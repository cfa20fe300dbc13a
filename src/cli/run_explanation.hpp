// Explains why a run failed, from the files in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/run_ending.hpp"
#include "explain/scan.hpp"
#include "run/record.hpp"

namespace muster::cli {

// The file with the hosts' kernel messages during the run, in lines such as "n2 Out of memory:
// ...".
constexpr const char* kKernelFile = "kernel";

enum class Reading {
  kEverything,
  kEnds,  // only the beginning and end of each file, within a short time
};

// `summary` is the summary of the run's record; nothing if there is no record yet.
[[nodiscard]] Result<ExplainedRun> explain_folder(const std::string& folder,
                                                  const std::optional<run::Summary>& summary,
                                                  Reading reading);

// Scans the file; "-" is standard input. The explanation calls the file `name`.
[[nodiscard]] Result<void> scan_file(explain::Scan& scan, const std::string& path,
                                     const std::string& name);

}  // namespace muster::cli
