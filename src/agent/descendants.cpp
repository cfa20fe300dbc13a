#include "agent/descendants.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/record.hpp"
#include "sys/file.hpp"
#include "sys/process_stat.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kMaxList = std::size_t{8} << 20;

// Parses the text of /proc/PID/task/PID/children, such as "12 13 14 ". Kernels without
// CONFIG_PROC_CHILDREN do not have this file.
std::vector<pid_t> listed_children(const std::string& text) {
  std::vector<pid_t> pids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec != std::errc()) break;
    pids.push_back(pid);
    at = parsed.ptr + 1;
  }
  return pids;
}

std::vector<pid_t> searched_children() {
  std::vector<pid_t> pids;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = static_cast<const char*>(entry->d_name);
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc()) continue;
    const auto stat = sys::read_process_stat(pid);
    if (stat && stat->parent == ::getpid()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

std::vector<pid_t> children() {
  const auto text =
      sys::read_file(fmt::format("/proc/self/task/{}/children", ::getpid()), kMaxList);
  return text ? listed_children(*text) : searched_children();
}

// Reaps the children that have ended. Returns false if there are no children left.
bool reap() {
  while (true) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid > 0) continue;
    return pid == 0 || errno != ECHILD;
  }
}

void wait_for_an_end(std::chrono::milliseconds at_most) {
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const timespec span{.tv_sec = 0, .tv_nsec = at_most.count() * 1'000'000};
  (void)::sigtimedwait(&child, nullptr, &span);
}

}  // namespace

int kill_children(std::chrono::milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + deadline;
  int killed = 0;
  std::set<pid_t> sent;
  while (reap()) {
    for (const pid_t pid : children()) {
      // A child's PID is not reused until we reap it, so this cannot kill an unrelated process.
      const bool hit = identify(pid) && ::kill(pid, SIGKILL) == 0;
      if (hit && sent.insert(pid).second) ++killed;
    }
    if (Clock::now() >= until) break;
    wait_for_an_end(std::chrono::milliseconds(10));
  }
  return killed;
}

}  // namespace muster::agent
