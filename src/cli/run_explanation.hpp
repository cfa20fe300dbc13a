// Why a run failed, from the files in its folder.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/run_ending.hpp"
#include "explain/scan.hpp"
#include "run/record.hpp"

namespace muster::cli {

// What the kernels of the hosts said during the run, in its folder: "n2 Out of memory: ...".
constexpr const char* kKernelFile = "kernel";

enum class Reading {
  kEverything,
  kEnds,  // the beginning and the end of each file, and not for long
};

// `summary`: of its record; nothing: the run has none yet.
[[nodiscard]] Result<ExplainedRun> explain_folder(const std::string& folder,
                                                  const std::optional<run::Summary>& summary,
                                                  Reading reading);

// The whole file; "-" is standard input. `name`: as the user knows it.
[[nodiscard]] Result<void> scan_file(explain::Scan& scan, const std::string& path,
                                     const std::string& name);

}  // namespace muster::cli
