// Runs nvidia-smi or amd-smi. A sick GPU can hold such a tool in the kernel, where not even SIGKILL
// ends it, so nothing here waits for more than the deadline and a second.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sys/process.hpp"

namespace muster::facts {

using ToolArguments = std::vector<std::string>;

// One result for each set of arguments, all asked at the same time.
[[nodiscard]] std::vector<Result<sys::Ended>> ask_tool(const std::string& tool,
                                                       std::span<const ToolArguments> questions,
                                                       std::chrono::milliseconds deadline);

// Why the tool gave no answer, in its own words; empty: it answered.
[[nodiscard]] std::string tool_failure(const std::string& name, const Result<sys::Ended>& ended,
                                       std::chrono::milliseconds deadline);

}  // namespace muster::facts
