#include "inspect/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
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

std::string link_target(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

double ticks_per_second() {
  return static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string state_text(char state) {
  if (state == 't') return "T";  // stopped by a debugger
  if (state == 'x') return "X";
  return {state};
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
  // Its number may belong to another process by now.
  const bool is_same =
      before.stat && after.stat && before.stat->start_ticks == after.stat->start_ticks;
  if (!is_same) return process;
  process.parent = after.stat->parent;
  process.state = state_text(after.stat->state);
  const double seconds = std::chrono::duration<double>(after.time - before.time).count();
  if (seconds > 0 && after.stat->cpu_ticks >= before.stat->cpu_ticks) {
    const auto ticks = static_cast<double>(after.stat->cpu_ticks - before.stat->cpu_ticks);
    process.cpu = ticks / ticks_per_second() / seconds;
  }
  if (before.io_bytes && after.io_bytes) {
    process.io_bytes = std::max<std::int64_t>(0, *after.io_bytes - *before.io_bytes);
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
