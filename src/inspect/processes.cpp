#include "inspect/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kMostCmdline = 4096;
constexpr std::size_t kMostMaps = std::size_t{4} << 20;
constexpr std::size_t kMostLocks = std::size_t{1} << 20;
constexpr std::size_t kLongestPlace = 80;

std::string proc_path(pid_t pid, const char* name) {
  return fmt::format("/proc/{}/{}", pid, name);
}

double ticks_per_second() {
  return static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string state_text(pid_t pid, char state) {
  if (state == 't') return was_stopped(pid, state) ? "T" : "S";
  if (state == 'x') return "X";
  return {state};
}

bool has_controller(std::string_view list, std::string_view controller) {
  const auto controllers = facts::split(list, ',');
  return std::ranges::find(controllers, controller) != controllers.end();
}

// Whether the cgroup is visible here. The paths of cgroups outside this process's cgroup namespace
// begin with "/..".
bool is_below_root(std::string_view path) {
  return path.starts_with('/') && path.find("/..") == std::string_view::npos;
}

}  // namespace

ProcessLook look_at_process(pid_t pid) {
  ProcessLook look{.pid = pid, .time = Clock::now(), .stat = sys::read_process_stat(pid)};
  const auto io = facts::read_start(proc_path(pid, "io"));
  if (io) look.io_bytes = parse_io_bytes(*io);
  return look;
}

Process compare_looks(const ProcessLook& before, const ProcessLook& after) {
  Process process{.pid = after.pid};
  if (before.stat) process.parent = before.stat->parent;
  // Its PID may have been reused by another process.
  const bool is_same =
      before.stat && after.stat && before.stat->start_ticks == after.stat->start_ticks;
  if (!is_same) return process;
  process.parent = after.stat->parent;
  process.state = state_text(after.pid, after.stat->state);
  const double seconds = std::chrono::duration<double>(after.time - before.time).count();
  if (seconds > 0 && after.stat->cpu_ticks >= before.stat->cpu_ticks) {
    const auto ticks = static_cast<double>(after.stat->cpu_ticks - before.stat->cpu_ticks);
    process.cpu = ticks / ticks_per_second() / seconds;
  }
  if (before.io_bytes && after.io_bytes) {
    process.io_bytes = std::max<std::int64_t>(0, *after.io_bytes - *before.io_bytes);
  }
  if (after.stat->major_faults > before.stat->major_faults) {
    const auto faults = after.stat->major_faults - before.stat->major_faults;
    constexpr std::uint64_t kMostFaults = std::uint64_t{1} << 40;
    process.io_bytes += static_cast<std::int64_t>(std::min(faults, kMostFaults)) *
                        static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  }
  return process;
}

NamedProcess name_of_process(pid_t pid) {
  NamedProcess process{.pid = pid};
  const auto stat = sys::read_process_stat(pid);
  process.ended = !stat || stat->ended();
  const std::string exe = link_target(proc_path(pid, "exe"));
  process.program = exe.substr(exe.rfind('/') + 1);
  if (process.program.empty()) process.program = facts::first_line(proc_path(pid, "comm"));
  return process;
}

std::string command_of(pid_t pid) {
  const auto cmdline = facts::read_start(proc_path(pid, "cmdline"), kMostCmdline);
  std::string command = shortened_command(cmdline.value_or(""));
  if (command.empty()) command = printable(facts::first_line(proc_path(pid, "comm")));
  return command;
}

bool uses_python(pid_t pid) {
  if (is_python(name_of_process(pid).program)) return true;
  const auto maps = facts::read_start(proc_path(pid, "maps"), kMostMaps);
  return maps && maps->find("/libpython") != std::string::npos;
}

pid_t tracer_of(pid_t pid) {
  const std::string status = facts::read_start(proc_path(pid, "status")).value_or("");
  constexpr std::string_view kKey = "TracerPid:";
  for (const std::string_view line : facts::split(status, '\n')) {
    if (!line.starts_with(kKey)) continue;
    return facts::number<pid_t>(facts::trimmed(line.substr(kKey.size()))).value_or(0);
  }
  return 0;
}

bool was_stopped(pid_t pid, char state) {
  if (state == 'T') return true;
  return state == 't' && facts::first_line(proc_path(tracer_of(pid), "comm")) != "eu-stack";
}

std::string frozen_cgroup(pid_t pid) {
  const std::string groups = facts::read_start(proc_path(pid, "cgroup"), kMostLocks).value_or("");
  for (const std::string_view line : facts::split(groups, '\n')) {
    // A line is "0::/user.slice" or "5:freezer,cpu:/job".
    const auto parts = facts::split(line, ':');
    if (parts.size() != 3 || !is_below_root(parts[2])) continue;
    const std::string path(parts[2]);
    if (parts[1].empty()) {
      for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        const auto events = facts::read_start(root + path + "/cgroup.events");
        if (events && events->find("frozen 1") != std::string::npos) return printable(path);
      }
    } else if (has_controller(parts[1], "freezer")) {
      const std::string state =
          facts::first_line("/sys/fs/cgroup/freezer" + path + "/freezer.state");
      if (!state.empty() && state != "THAWED") return printable(path);
    }
  }
  return {};
}

std::string waiting_place(pid_t pid) {
  const std::string place = facts::first_line(proc_path(pid, "wchan"));
  return place == "0" ? "" : printable(std::string_view(place).substr(0, kLongestPlace));
}

CallLook look_at_call(pid_t pid) {
  const sys::Fd fd(::open(proc_path(pid, "syscall").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {.denied = errno == EACCES || errno == EPERM};
  std::array<char, 512> text{};
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return {.denied = errno == EACCES || errno == EPERM};
  return {.call = parse_system_call({text.data(), static_cast<std::size_t>(got)})};
}

bool stop_would_break(pid_t pid, const SystemCall& call) {
  return fails_after_stop(call, kThisMachine, [pid](int fd, int option) {
    if (!link_target(fmt::format("/proc/{}/fd/{}", pid, fd)).starts_with("socket:")) return false;
    const sys::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const sys::Fd socket(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
    timeval limit{};
    socklen_t size = sizeof limit;
    // If the socket cannot be asked, as with an old kernel, assume that it has a limit.
    return ::getsockopt(socket.get(), SOL_SOCKET, option, &limit, &size) != 0 ||
           limit.tv_sec != 0 || limit.tv_usec != 0;
  });
}

std::string call_words(pid_t pid, const CallLook& look, std::string_view waits_in) {
  if (!look.call && !look.denied) return {};
  const auto target_of = [pid](int fd) {
    return link_target(fmt::format("/proc/{}/fd/{}", pid, fd));
  };
  std::string words = look.call ? describe(*look.call, kThisMachine, target_of, waits_in)
                                : describe_place(waits_in);
  if (!words.starts_with("lock of ")) return words;
  const auto locks = facts::read_start("/proc/locks", kMostLocks);
  const pid_t holder = lock_holder(locks.value_or(""), pid);
  return holder == 0 ? words : fmt::format("{}, held by process {}", words, holder);
}

}  // namespace muster::inspect
