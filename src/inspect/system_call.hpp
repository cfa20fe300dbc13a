// The system call in which a thread waits, from the text of /proc/PID/syscall.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster::inspect {

enum class Machine { kX86, kArm };  // both 64-bit; their system calls have different numbers

#if defined(__aarch64__)
constexpr Machine kThisMachine = Machine::kArm;
#else
constexpr Machine kThisMachine = Machine::kX86;
#endif

struct SystemCall {
  int number = 0;
  std::array<std::uint64_t, 6> arguments = {};

  friend bool operator==(const SystemCall&, const SystemCall&) = default;
};

// Returns nothing if the thread is running, is stopped outside a call, or if the text is invalid.
[[nodiscard]] std::optional<SystemCall> parse_system_call(std::string_view text);

// The target of /proc/PID/fd/NUMBER: "/data/shard-19", "socket:[123]"; empty if unknown.
using TargetOf = std::function<std::string(int fd)>;

// Describes the call in the words listed at Process::call. `waits_in` is the kernel's name for the
// function in which the thread waits. If the kernel has restarted a call, only this name shows
// which.
[[nodiscard]] std::string describe(const SystemCall& call, Machine machine,
                                   const TargetOf& target_of, std::string_view waits_in);

// Like describe, but from `waits_in` alone, for when ptrace is not permitted. Returns "" if muster
// does not know that name.
[[nodiscard]] std::string describe_place(std::string_view waits_in);

// Whether a socket has the time limit `option`: SO_RCVTIMEO or SO_SNDTIMEO. False if `fd` is not a
// socket.
using HasTimeLimit = std::function<bool(int fd, int option)>;

// Whether the call fails with EINTR after a debugger has stopped the thread. The kernel restarts
// other calls without the program noticing. See signal(7).
[[nodiscard]] bool fails_after_stop(const SystemCall& call, Machine machine,
                                    const HasTimeLimit& has_time_limit);

}  // namespace muster::inspect
