// What the kernel says about processes in small texts and links below /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace muster::inspect {

// All bytes that the process read and wrote, from /proc/PID/io: through calls (also of the page
// cache and pipes, not by recv and send), and from and to disks (also through mapped files).
[[nodiscard]] std::int64_t parse_io_bytes(std::string_view text);

// "python train.py" from /proc/PID/cmdline, whose words end with NUL: printable, without the folder
// of the program, and cut.
[[nodiscard]] std::string shortened_command(std::string_view cmdline);

// The value of a variable in /proc/PID/environ.
[[nodiscard]] std::string variable_in(std::string_view environ, std::string_view name);

// Where a symbolic link such as /proc/PID/exe points; empty: not told.
[[nodiscard]] std::string link_target(const std::string& path);

// The inode in "socket:[123]"; 0: no socket.
[[nodiscard]] std::uint64_t socket_inode_of(std::string_view target);

// Who has the file lock for which `pid` waits, from /proc/locks; 0: not told.
[[nodiscard]] pid_t lock_holder(std::string_view locks, pid_t pid);

struct NamedProcess {
  pid_t pid = 0;
  std::string program = {};  // its file name; that of its first thread where that is not told
  bool ended = false;
};

// The first that is not a shell or another program that starts one; else the last of those. 0: none
// is left.
[[nodiscard]] pid_t main_process(std::span<const NamedProcess> parents_first);

[[nodiscard]] bool is_python(std::string_view program);

}  // namespace muster::inspect
