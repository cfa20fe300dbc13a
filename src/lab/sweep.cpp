#include "lab/sweep.hpp"

#include <cctype>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::lab {
namespace {

using std::chrono::steady_clock;

constexpr auto kDeadline = std::chrono::seconds(30);
constexpr int kMaxRounds = 100;

Result<void> wait_for_end(const std::vector<sys::Fd>& processes) {
  const auto deadline = steady_clock::now() + kDeadline;
  for (const sys::Fd& process : processes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd event{.fd = process.get(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) {
      return unexpected(Error{.code = ErrorCode::kTimeout,
                              .what = "a process of the lab does not end after SIGKILL"});
    }
  }
  return {};
}

Result<void> end_all(const std::vector<pid_t>& pids) {
  std::vector<sys::Fd> processes;
  for (const pid_t pid : pids) {
    sys::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process.valid()) continue;  // gone already
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    processes.push_back(std::move(process));
  }
  return wait_for_end(processes);
}

}  // namespace

std::vector<pid_t> marked_processes(const std::string& entry) {
  const std::string wanted = entry + '\0';
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = folder.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    const auto environment = sys::read_file(fmt::format("/proc/{}/environ", pid));
    if (!environment) continue;  // ended, or another user's
    const std::size_t at = environment->find(wanted);
    if (at == 0 || (at != std::string::npos && (*environment)[at - 1] == '\0'))
      found.push_back(pid);
  }
  return found;
}

Result<void> sweep(const std::string& entry) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<pid_t> found = marked_processes(entry);
    if (found.empty()) return {};
    MUSTER_CHECK(end_all(found));
  }
  return unexpected(Error{.what = "processes of the lab keep coming back"});
}

Result<void> end_process(pid_t pid) {
  return end_all({pid});
}

}  // namespace muster::lab
