#include "lab/sweep.hpp"

#include <cctype>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::lab {
namespace {

using std::chrono::steady_clock;

constexpr auto kSweepDeadline = std::chrono::seconds(30);
constexpr int kMaxRounds = 100;

Result<void> wait_for_end(const std::vector<sys::Fd>& processes) {
  const auto deadline = steady_clock::now() + kSweepDeadline;
  for (const sys::Fd& process : processes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd event{.fd = process.get(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) {
      return unexpected(
          Error{.code = ErrorCode::kTimeout,
                .what = "a process of the lab does not end, although it was sent SIGKILL"});
    }
  }
  return {};
}

sys::Fd open_process(pid_t pid) {
  return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Result<void> end_all(const std::vector<sys::Fd>& processes) {
  for (const sys::Fd& process : processes) {
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  }
  return wait_for_end(processes);
}

bool has_entry(const std::string& environment, const std::string& entry) {
  const std::size_t at = environment.find(entry + '\0');
  return at == 0 || (at != std::string::npos && environment[at - 1] == '\0');
}

std::vector<sys::Fd> marked_processes(const std::string& entry) {
  std::vector<sys::Fd> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = folder.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    // Open the process before its environment is read, so that no other process with the same PID
    // is signalled.
    sys::Fd process = open_process(pid);
    const auto environment = sys::read_file(fmt::format("/proc/{}/environ", pid));
    if (process.valid() && environment && has_entry(*environment, entry)) {
      found.push_back(std::move(process));
    }
  }
  return found;
}

}  // namespace

Result<void> sweep(const std::string& entry) {
  // During exec, a process has no environment for a moment. So one round that finds no process is
  // not enough.
  int looks_in_vain = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<sys::Fd> found = marked_processes(entry);
    if (!found.empty()) {
      looks_in_vain = 0;
      MUSTER_CHECK(end_all(found));
    } else if (++looks_in_vain == 2) {
      return {};
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  return unexpected(
      Error{.what = "new processes keep appearing in the lab while muster ends the old ones"});
}

Result<void> end_process(pid_t pid) {
  std::vector<sys::Fd> processes;
  if (sys::Fd process = open_process(pid); process.valid()) processes.push_back(std::move(process));
  return end_all(processes);
}

}  // namespace muster::lab
