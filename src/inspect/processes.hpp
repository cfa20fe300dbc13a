// Examines processes through /proc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "inspect/deadline.hpp"
#include "inspect/inspection.hpp"
#include "inspect/process_texts.hpp"
#include "inspect/system_call.hpp"
#include "sys/process_stat.hpp"

namespace muster::inspect {

struct ProcessLook {
  pid_t pid = 0;
  Clock::time_point time = {};
  std::optional<sys::ProcessStat> stat = std::nullopt;  // nothing: the process has ended
  std::optional<std::int64_t> io_bytes = std::nullopt;  // nothing: unknown
};

[[nodiscard]] ProcessLook look_at_process(pid_t pid);

// What the process did between two looks. Does not fill in texts such as `command` and `call`.
[[nodiscard]] Process compare_looks(const ProcessLook& before, const ProcessLook& after);

[[nodiscard]] NamedProcess name_of_process(pid_t pid);

// Returns "python train.py", for example. May block while the kernel holds the process's memory.
[[nodiscard]] std::string command_of(pid_t pid);

// Like command_of, may block while the kernel holds the process's memory.
[[nodiscard]] bool uses_python(pid_t pid);

// The PID of the process's debugger; 0 if it has none.
[[nodiscard]] pid_t tracer_of(pid_t pid);
// Whether the process, which is in `state`, is stopped (T or t) by something other than our
// eu-stack.
[[nodiscard]] bool was_stopped(pid_t pid, char state);
// The kernel's name for the function in which the main thread waits; "" if unknown.
[[nodiscard]] std::string waiting_place(pid_t pid);
// The cgroup of a process if it is frozen, otherwise empty.
[[nodiscard]] std::string frozen_cgroup(pid_t pid);

struct CallLook {
  bool denied = false;  // ptrace is not permitted
  std::optional<SystemCall> call = std::nullopt;
};
[[nodiscard]] CallLook look_at_call(pid_t pid);

// Whether the call would fail if a debugger stopped the thread. Needs the same permission as
// ptrace.
[[nodiscard]] bool stop_would_break(pid_t pid, const SystemCall& call);

// Describes the call or, if ptrace is denied, what can be concluded from `waits_in`. For a lock,
// adds the process that holds it.
[[nodiscard]] std::string call_words(pid_t pid, const CallLook& look, std::string_view waits_in);

}  // namespace muster::inspect
