// Runs programs that examine a process: py-spy and eu-stack.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "inspect/deadline.hpp"

namespace muster::inspect {

struct ToolAnswer {
  bool started = false;
  bool timed_out = false;  // the tool was killed, or never got its turn to start
  int status = 0;          // from waitpid
  std::string out = {};    // only the first MiB
  std::string err = {};    // only the first few KiB
};

// Unlike sys::run, this can be called by several threads at once. Runs at most one tool per CPU.
// Kills a tool that has run for `most` or is still running at the deadline. If a killed tool does
// not end within 0.2 s, because the kernel blocks it, it is abandoned.
[[nodiscard]] ToolAnswer run_tool(const std::vector<std::string>& argv,
                                  std::chrono::milliseconds most, Deadline deadline);

// Like run_tool, for a tool that attaches to the process as a debugger. A tool that fails or is
// killed may leave the process stopped, so this resumes it unless it was stopped before.
[[nodiscard]] ToolAnswer run_attached(const std::vector<std::string>& argv, pid_t pid,
                                      std::chrono::milliseconds most, Deadline deadline);

// Kills running tools and prevents new ones. Returns when the processes to which tools were
// attached run again, but after half a second at the latest.
void end_tools();

constexpr const char* kPtraceDenied = "ptrace is not permitted for this process";

// Says why there is no stack, for texts such as "no native stack: ...". `tool` is the tool's name.
[[nodiscard]] std::string tool_failure(const std::string& tool, const ToolAnswer& answer);

// Searches for py-spy next to the process's Python, in the process's environment and in our PATH.
// Only accepts a trusted program. Empty if there is none.
[[nodiscard]] std::string find_pyspy(pid_t pid);

// Whether only root and this user can change the program and all folders above it, including those
// to which links lead.
[[nodiscard]] bool is_trusted_program(const std::string& path);

}  // namespace muster::inspect
