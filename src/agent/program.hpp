// Starts a rank's program: in a process group of its own, with the descriptors and the signal
// dispositions that the engine gave, and bound to die with its shim.
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
      program;  // with its arguments, looked up in the environment's PATH
  const Environment& environment;
  int out;
  int err;
  const SignalGuard& signals;
  // What this process starts may read the program's stack, where the kernel lets only a parent do
  // so (Yama's ptrace_scope of 1); 0: nobody.
  pid_t inspector = 0;
};

struct Launched {
  pid_t pid = 0;
  int error_pipe = -1;  // see `launch_error`
};

// Forks. The program may yet fail to start: ask `launch_error`.
[[nodiscard]] Result<Launched> launch(const Launch& launch);
// Waits until the program runs; 0, or errno of the attempt. Closes the pipe.
[[nodiscard]] int launch_error(const Launched& launched);

// Ends this process as `status` (of waitpid) says: with the exit code, which is returned, or by the
// same signal, leaving no core of ours behind.
[[nodiscard]] int end_like(int status);

}  // namespace muster::agent
