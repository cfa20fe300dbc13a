#include "agent/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engines/kind.hpp"
#include "sys/file.hpp"
#include "sys/process_stat.hpp"

namespace muster::agent {
namespace {

std::string read_proc(pid_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_ours(pid_t pid) {
  struct stat status = {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == ::getuid();
}

pid_t parent_of(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  return stat ? stat->parent : 0;
}

// Whether the process is in the middle of exec: it has a program, but no arguments yet.
bool is_in_exec(pid_t pid) {
  char first = 0;
  const bool has_program = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), &first, 1) > 0;
  return has_program && read_proc(pid, "cmdline").empty();  // false for a zombie or a kernel thread
}

// A process in the middle of exec shows no variables yet, so this waits until exec is done. On a
// host with no idle CPU that can take long.
std::string environment_of(pid_t pid) {
  constexpr int kTries = 1000;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  std::string environment = read_proc(pid, "environ");
  if (!environment.empty()) return environment;
  for (int i = 0; is_in_exec(pid) && i < kTries; ++i) (void)::nanosleep(&kPause, nullptr);
  return read_proc(pid, "environ");
}

bool carries(pid_t pid, std::string_view entry) {
  const std::string environment = environment_of(pid);
  for (std::size_t start = 0; start < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', start), environment.size());
    if (std::string_view(environment).substr(start, end - start) == entry) return true;
    start = end + 1;
  }
  return false;
}

bool is_engine(pid_t pid) {
  std::string name = read_proc(pid, "comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  const auto& kinds = engines::all();
  return std::any_of(kinds.begin(), kinds.end(), [&](const engines::Kind& kind) {
    return std::find(kind.processes.begin(), kind.processes.end(), name) != kind.processes.end();
  });
}

// Whether the process has this word on its command line.
bool has_word(pid_t pid, const std::string& word) {
  using std::string_literals::operator""s;
  return read_proc(pid, "cmdline").find("\0"s + word + "\0"s) != std::string::npos;
}

std::vector<pid_t> all_of_ours() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad == std::errc() && end == name.data() + name.size() && is_ours(pid)) pids.push_back(pid);
  }
  return pids;
}

// `members` and all their descendants.
std::set<pid_t> with_descendants(std::set<pid_t> members,
                                 const std::unordered_map<pid_t, std::vector<pid_t>>& children) {
  std::vector<pid_t> queue(members.begin(), members.end());
  while (!queue.empty()) {
    const auto found = children.find(queue.back());
    queue.pop_back();
    if (found == children.end()) continue;
    for (const pid_t child : found->second) {
      if (members.insert(child).second) queue.push_back(child);
    }
  }
  return members;
}

}  // namespace

std::vector<ProcessId> rank_processes(const std::string& run_id,
                                      std::span<const RankStart> starts) {
  std::set<pid_t> members;
  for (const RankStart& start : starts) {
    if (is_alive(start.program)) members.insert(start.program.pid);
    if (is_alive(start.shim)) members.insert(start.shim.pid);
  }
  const std::string entry = "MUSTER_RUN_ID=" + run_id;
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : all_of_ours()) {
    children[parent_of(pid)].push_back(pid);
    if (carries(pid, entry)) members.insert(pid);
  }
  members = with_descendants(std::move(members), children);
  members.erase(::getpid());
  std::vector<ProcessId> processes;
  for (const pid_t pid : members) {
    if (const auto process = identify(pid)) processes.push_back(*process);
  }
  return processes;
}

std::vector<std::vector<pid_t>> process_trees(std::span<const RankStart> starts) {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : all_of_ours()) children[parent_of(pid)].push_back(pid);
  std::vector<std::vector<pid_t>> trees;
  for (const RankStart& start : starts) {
    std::vector<pid_t> tree;
    const auto add = [&](pid_t pid) {
      if (std::find(tree.begin(), tree.end(), pid) == tree.end()) tree.push_back(pid);
    };
    if (is_alive(start.program)) add(start.program.pid);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const auto found = children.find(tree[i]);
      if (found == children.end()) continue;
      for (const pid_t child : found->second) add(child);
    }
    trees.push_back(std::move(tree));
  }
  return trees;
}

std::vector<ProcessId> engine_daemons(const std::string& run_id,
                                      std::span<const RankStart> starts) {
  std::vector<ProcessId> daemons;
  const auto add = [&](const ProcessId& daemon) {
    const bool listed = std::find(daemons.begin(), daemons.end(), daemon) != daemons.end();
    if (is_engine(daemon.pid) && !listed) daemons.push_back(daemon);
  };
  for (const RankStart& start : starts) {
    const ProcessId& daemon = start.daemon;
    if (daemon.pid > 1 && is_alive(daemon) && is_ours(daemon.pid)) add(daemon);
  }
  for (const pid_t pid : all_of_ours()) {
    if (!is_engine(pid) || !has_word(pid, run_id)) continue;
    if (const auto daemon = identify(pid)) add(*daemon);
  }
  return daemons;
}

std::optional<ProcessId> engine_of(const std::string& run_id) {
  using std::string_literals::operator""s;
  const std::string words = "\0--run\0"s + run_id + "\0"s;
  for (const pid_t pid : all_of_ours()) {
    if (is_engine(pid) && read_proc(pid, "cmdline").find(words) != std::string::npos) {
      return identify(pid);
    }
  }
  return std::nullopt;
}

std::optional<ProcessId> keeper_of(const std::string& run_id) {
  using std::string_literals::operator""s;
  const std::string words = "\0keeper\0"s + run_id + "\0"s;
  for (const pid_t pid : all_of_ours()) {
    if (read_proc(pid, "cmdline").find(words) != std::string::npos) return identify(pid);
  }
  return std::nullopt;
}

void send_signal(const ProcessId& process, int signal) {
  // The handle refers to the process that has this PID now, so check that it is the right one
  // afterwards.
  const sys::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const bool is_old_kernel = !handle.valid() && errno != ESRCH;
  if (!is_alive(process)) return;
  if (handle.valid()) (void)::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  if (is_old_kernel) (void)::kill(process.pid, signal);
}

}  // namespace muster::agent
