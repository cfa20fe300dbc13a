// Programs that look into a process: py-spy and eu-stack.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "inspect/deadline.hpp"

namespace muster::inspect {

struct ToolAnswer {
  bool started = false;
  bool timed_out = false;  // it was killed
  int status = 0;          // as of waitpid
  std::string out = {};    // the first MiB
  std::string err = {};    // the first few KiB
};

// Unlike sys::run, this is safe in several threads at once and kills at the deadline. A tool that
// even then does not end within 0.2 s, because the kernel holds it, is left behind.
[[nodiscard]] ToolAnswer run_tool(const std::vector<std::string>& argv, Deadline deadline);

constexpr const char* kPtraceDenied = "ptrace is not permitted for this process";

// What went wrong, for "no native stack: ..."; `tool` is its name.
[[nodiscard]] std::string tool_failure(const std::string& tool, const ToolAnswer& answer);

// Where py-spy is for this process: beside its Python, in its environment, in our PATH. Only a
// trusted program counts. Empty: nowhere.
[[nodiscard]] std::string find_pyspy(pid_t pid);

// The program and all folders above it belong to us or to root, and not everybody can change them.
[[nodiscard]] bool is_trusted_program(const std::string& path);

}  // namespace muster::inspect
