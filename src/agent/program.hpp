// Starts a rank's program in its own process group, with the descriptors and signal dispositions
// that the engine set. The program is killed when its rank process dies.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/rank_environment.hpp"
#include "agent/signals.hpp"
#include "base/error.hpp"

namespace muster::agent {

struct Launch {
  const std::vector<std::string>&
      program;  // with its arguments; found by the PATH in `environment`
  const Environment& environment;
  int out;
  int err;
  const SignalGuard& signals;
  // PID of a process that may, like its children, read the program's stack even where the kernel
  // allows that only to a parent (ptrace_scope 1 of the Yama module). 0: no process gets this
  // permission.
  pid_t inspector = 0;
};

struct Launched {
  pid_t pid = 0;
  int error_pipe = -1;  // see `launch_error`
};

// Forks. The program may still fail to start, which `launch_error` finds out.
[[nodiscard]] Result<Launched> launch(const Launch& launch);
// Waits until the program runs and returns 0, or the errno of the failed exec. Closes the pipe.
[[nodiscard]] int launch_error(const Launched& launched);

// Ends this process like one with this `status` (from waitpid): dies of the same signal, without
// leaving a core dump, or returns the exit code with which the caller must exit.
[[nodiscard]] int end_like(int status);

}  // namespace muster::agent
