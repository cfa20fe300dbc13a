// Runs nvidia-smi or amd-smi. A faulty GPU can block such a tool in the kernel, where not even
// SIGKILL ends it. So nothing here waits more than one second longer than the deadline.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sys/process.hpp"

namespace muster::facts {

using ToolArguments = std::vector<std::string>;

// Asks all questions at the same time and returns one result for each.
[[nodiscard]] std::vector<Result<sys::Ended>> ask_tool(const std::string& tool,
                                                       std::span<const ToolArguments> questions,
                                                       std::chrono::milliseconds deadline);

// Why the tool did not answer, in its own words; empty if it answered.
[[nodiscard]] std::string tool_failure(const std::string& name, const Result<sys::Ended>& ended,
                                       std::chrono::milliseconds deadline);

}  // namespace muster::facts
