// The system call in which a thread waits, as /proc/PID/syscall tells it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster::inspect {

enum class Machine { kX86, kArm };  // both with 64 bits; their system calls have other numbers

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

// Nothing if the thread runs or is stopped outside of a call, or the text is not of that form.
[[nodiscard]] std::optional<SystemCall> parse_system_call(std::string_view text);

// Where /proc/PID/fd/NUMBER points: "/data/shard-19", "socket:[123]"; empty: not told.
using TargetOf = std::function<std::string(int fd)>;

// In words that begin as described at Process::call. `waits_in` is the kernel's name for the place
// where the thread waits: it tells which call a restarted one was.
[[nodiscard]] std::string describe(const SystemCall& call, Machine machine,
                                   const TargetOf& target_of, std::string_view waits_in);

// The same from the kernel's name for the place alone, for where ptrace is not permitted; empty:
// the place does not tell.
[[nodiscard]] std::string describe_place(std::string_view waits_in);

// Whether a socket has a time limit: SO_RCVTIMEO or SO_SNDTIMEO. False for what is no socket.
using HasTimeLimit = std::function<bool(int fd, int option)>;

// True: the call fails with EINTR after a debugger stopped the thread, where others are restarted
// by the kernel without the program's notice. See signal(7).
[[nodiscard]] bool fails_after_stop(const SystemCall& call, Machine machine,
                                    const HasTimeLimit& has_time_limit);

}  // namespace muster::inspect
