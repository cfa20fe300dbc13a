// Sees to it that a program's process group dies with its shim.
//
// When an engine kills a rank for good it sends SIGKILL to the process group, and so to the shim
// alone. The kernel then kills the program, but not the program's children: a shell's python, a
// data loader's workers. The guard is one more process, in a group of its own, that waits for
// nothing but the shim's end and then kills the program's group.
#pragma once

#include <sys/types.h>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

class GroupGuard {
 public:
  [[nodiscard]] static Result<GroupGuard> start(pid_t group);

  // It need not look any longer, and ends; it is still a child to be waited for. Call it before the
  // group's leader is waited for: after that the number may be another's.
  void dismiss();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  sys::Fd life_line_;  // the shim's end
  pid_t pid_ = 0;
};

}  // namespace muster::agent
