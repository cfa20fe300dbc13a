// Looks at processes through /proc.
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
  std::optional<sys::ProcessStat> stat = std::nullopt;  // none: it is gone
  std::optional<std::int64_t> io_bytes = std::nullopt;  // none: not told
};

[[nodiscard]] ProcessLook look_at_process(pid_t pid);

// What the process did between two looks; without words and places.
[[nodiscard]] Process compare_looks(const ProcessLook& before, const ProcessLook& after);

[[nodiscard]] NamedProcess name_of_process(pid_t pid);

// "python train.py". May wait while the kernel holds the process's memory.
[[nodiscard]] std::string command_of(pid_t pid);

// May wait likewise.
[[nodiscard]] bool uses_python(pid_t pid);

// The kernel's name for what the main thread waits in.
// The debugger of a process; 0: none.
[[nodiscard]] pid_t tracer_of(pid_t pid);
// In state T or t, and not just because a tool of ours reads its stack.
[[nodiscard]] bool was_stopped(pid_t pid, char state);
[[nodiscard]] std::string waiting_place(pid_t pid);
// The cgroup of a process, if it is frozen; else empty.
[[nodiscard]] std::string frozen_cgroup(pid_t pid);

struct CallLook {
  bool denied = false;  // ptrace is not permitted
  std::optional<SystemCall> call = std::nullopt;
};
[[nodiscard]] CallLook look_at_call(pid_t pid);

// Whether to stop the thread would make its call fail. Needs the permission that ptrace needs.
[[nodiscard]] bool stop_would_break(pid_t pid, const SystemCall& call);

// The call in words; without a call, what the place where the thread waits tells. Of a lock it
// names the holder too.
[[nodiscard]] std::string call_words(pid_t pid, const CallLook& look, std::string_view waits_in);

}  // namespace muster::inspect
