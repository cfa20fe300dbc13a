// Parses what the kernel says about processes in small files and links below /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace muster::inspect {

// Returns the bytes that the process has read and written so far, from the text of /proc/PID/io.
// Adds up bytes in system calls (including the page cache and pipes, but not recv and send) and
// bytes on disks (including mapped files).
[[nodiscard]] std::int64_t parse_io_bytes(std::string_view text);

// Turns the text of /proc/PID/cmdline, whose words end with NUL, into "python train.py": printable,
// without the program's folder, and shortened.
[[nodiscard]] std::string shortened_command(std::string_view cmdline);

// The value of a variable in the text of /proc/PID/environ; "" if it is not set.
[[nodiscard]] std::string variable_in(std::string_view environ, std::string_view name);

// The target of a symbolic link such as /proc/PID/exe; empty if unknown.
[[nodiscard]] std::string link_target(const std::string& path);

// The inode in "socket:[123]"; 0 if the target is not a socket.
[[nodiscard]] std::uint64_t socket_inode_of(std::string_view target);

// The process that holds the file lock for which `pid` waits, from the text of /proc/locks; 0 if
// unknown.
[[nodiscard]] pid_t lock_holder(std::string_view locks, pid_t pid);

struct NamedProcess {
  pid_t pid = 0;
  // Name of the program's file, or of the first thread if that is unknown.
  std::string program = {};
  bool ended = false;
};

// Returns the first running process that is not a shell or another program that only starts one. If
// there is none, returns the last running process; 0 if none is running.
[[nodiscard]] pid_t main_process(std::span<const NamedProcess> parents_first);

[[nodiscard]] bool is_python(std::string_view program);

}  // namespace muster::inspect
