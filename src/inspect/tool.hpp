// Programs that look into a process: py-spy and eu-stack.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "inspect/deadline.hpp"

namespace muster::inspect {

struct ToolAnswer {
  bool started = false;
  bool timed_out = false;  // it was killed; if it was not started: it never got its turn
  int status = 0;          // as of waitpid
  std::string out = {};    // the first MiB
  std::string err = {};    // the first few KiB
};

// Unlike sys::run, this is safe in several threads at once: it runs at most one tool per processor,
// and kills a tool that has run for `most` or still runs at the deadline. A killed tool that does
// not end within 0.2 s, because the kernel holds it, is left behind.
[[nodiscard]] ToolAnswer run_tool(const std::vector<std::string>& argv,
                                  std::chrono::milliseconds most, Deadline deadline);

// The same for a tool that attaches to the process as a debugger. A tool that fails or is killed
// may leave its stop signal there; this makes the process continue unless it was stopped before.
[[nodiscard]] ToolAnswer run_attached(const std::vector<std::string>& argv, pid_t pid,
                                      std::chrono::milliseconds most, Deadline deadline);

// Kills the tools that run and lets no more start. Returns once the processes that tools were
// attached to run again, and after half a second in any case.
void end_tools();

constexpr const char* kPtraceDenied = "ptrace is not permitted for this process";

// What went wrong, for "no native stack: ..."; `tool` is its name.
[[nodiscard]] std::string tool_failure(const std::string& tool, const ToolAnswer& answer);

// Where py-spy is for this process: beside its Python, in its environment, in our PATH. Only a
// trusted program counts. Empty: nowhere.
[[nodiscard]] std::string find_pyspy(pid_t pid);

// The program and all folders above it, also of what a link leads to, belong to us or to root, and
// nobody else can change them.
[[nodiscard]] bool is_trusted_program(const std::string& path);

}  // namespace muster::inspect
