#include "inspect/process_texts.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kLongestCommand = 120;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

// Programs that start another one and wait for it.
constexpr std::string_view kWrappers[] = {
    "sh",      "bash",    "dash",    "zsh",       "ash",       "ksh",         "fish",    "busybox",
    "env",     "timeout", "nice",    "ionice",    "nohup",     "setsid",      "stdbuf",  "taskset",
    "chrt",    "numactl", "tini",    "catatonit", "dumb-init", "docker-init", "time",    "strace",
    "ltrace",  "perf",    "nsys",    "gdb",       "sudo",      "su",          "runuser", "setpriv",
    "unshare", "nsenter", "prlimit", "uv",        "pixi",      "micromamba",  "muster"};

bool is_wrapper(std::string_view program) {
  return std::ranges::find(kWrappers, program) != std::end(kWrappers);
}

struct LockLine {
  // The lock's number, which is the same in the lines of its holder and of the processes that wait.
  std::string_view number;
  bool waits = false;
  pid_t pid = 0;
};

// Parses "1: -> FLOCK  ADVISORY  WRITE 1240 fe:00:131 0 EOF".
std::optional<LockLine> parse_lock_line(std::string_view line) {
  auto columns = facts::words(line);
  if (columns.size() < 2) return std::nullopt;
  LockLine lock{.number = columns[0], .waits = columns[1] == "->"};
  const std::size_t column = lock.waits ? 5 : 4;
  if (columns.size() <= column) return std::nullopt;
  const auto pid = facts::number<pid_t>(columns[column]);
  if (!pid) return std::nullopt;
  lock.pid = *pid;
  return lock;
}

}  // namespace

std::int64_t parse_io_bytes(std::string_view text) {
  std::int64_t sum = 0;
  for (const std::string_view line : facts::split(text, '\n')) {
    const auto columns = facts::words(line);
    constexpr std::string_view kCounted[] = {"rchar:", "wchar:", "read_bytes:", "write_bytes:"};
    if (columns.size() != 2 || std::ranges::find(kCounted, columns[0]) == std::end(kCounted)) {
      continue;
    }
    const auto bytes = facts::number<std::int64_t>(columns[1]).value_or(0);
    sum = std::min(sum + std::clamp<std::int64_t>(bytes, 0, kMostBytes), kMostBytes);
  }
  return sum;
}

std::string link_target(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

std::string shortened_command(std::string_view cmdline) {
  std::string command;
  for (const std::string_view word : facts::split(cmdline, '\0')) {
    if (command.size() > kLongestCommand) break;
    if (command.empty()) {
      command = word.substr(word.rfind('/') + 1);  // without a '/', npos + 1 is 0
    } else {
      command += ' ';
      command += word.substr(0, kLongestCommand);
    }
  }
  while (command.ends_with(' ')) command.pop_back();
  const bool is_cut = command.size() > kLongestCommand;
  // A command line may contain a program of several lines.
  std::ranges::replace_if(command, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  command = printable(std::string_view(command).substr(0, kLongestCommand));
  return is_cut ? command + "..." : command;
}

std::string variable_in(std::string_view environ, std::string_view name) {
  for (const std::string_view entry : facts::split(environ, '\0')) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
  }
  return {};
}

std::uint64_t socket_inode_of(std::string_view target) {
  constexpr std::string_view kStart = "socket:[";
  if (!target.starts_with(kStart) || !target.ends_with(']')) return 0;
  target.remove_prefix(kStart.size());
  return facts::number<std::uint64_t>(target.substr(0, target.size() - 1)).value_or(0);
}

pid_t lock_holder(std::string_view locks, pid_t pid) {
  std::vector<LockLine> lines;
  for (const std::string_view line : facts::split(locks, '\n')) {
    if (const auto lock = parse_lock_line(line)) lines.push_back(*lock);
  }
  const auto waiting =
      std::ranges::find_if(lines, [&](const LockLine& one) { return one.waits && one.pid == pid; });
  if (waiting == lines.end()) return 0;
  const auto held = std::ranges::find_if(
      lines, [&](const LockLine& one) { return !one.waits && one.number == waiting->number; });
  return held == lines.end() ? 0 : std::max(held->pid, 0);
}

pid_t main_process(std::span<const NamedProcess> parents_first) {
  pid_t last = 0;
  for (const NamedProcess& one : parents_first) {
    if (one.ended) continue;
    if (!is_wrapper(one.program)) return one.pid;
    last = one.pid;
  }
  return last;
}

bool is_python(std::string_view program) {
  return program.starts_with("python") || program.starts_with("pypy");
}

}  // namespace muster::inspect
