// What the kernel reports about a process in /proc/PID/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace muster::sys {

struct ProcessStat {
  char state = 'X';  // as in proc(5): 'R' running, 'S' sleeping, 'Z' zombie, ...
  pid_t parent = 0;
  bool exiting = false;            // it has begun to exit; its descriptors may be closed already
  std::uint64_t major_faults = 0;  // page faults that had to wait for a file or swap
  // CPU time in user and kernel mode; sysconf(_SC_CLK_TCK) ticks per second.
  std::uint64_t cpu_ticks = 0;
  // Since boot; distinguishes the process from a later one with the same number.
  std::uint64_t start_ticks = 0;

  // Whether it has exited, even if its parent has not waited for it yet.
  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X' || state == 'x'; }

  friend bool operator==(const ProcessStat&, const ProcessStat&) = default;
};

// Nothing if the text does not have the form of /proc/PID/stat.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

// Nothing if there is no such process.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid);

}  // namespace muster::sys
