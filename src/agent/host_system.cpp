#include "agent/host_system.hpp"

#include <csignal>

#include "agent/processes.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/clock.hpp"

namespace muster::agent {

HostSystem::Clock::time_point HostSystem::now() const {
  return Clock::now();
}

double HostSystem::unix_time() const {
  return sys::unix_time();
}

void HostSystem::wait(std::span<pollfd> watched, std::chrono::milliseconds at_most) {
  (void)::poll(watched.data(), watched.size(), static_cast<int>(at_most.count()));
}

std::int64_t HostSystem::memory_kills() {
  const std::string counters = facts::read_start("/proc/vmstat").value_or("");
  for (const std::string_view line : facts::split(counters, '\n')) {
    constexpr std::string_view kName = "oom_kill ";
    if (line.starts_with(kName)) {
      return facts::number<std::int64_t>(line.substr(kName.size())).value_or(0);
    }
  }
  return 0;
}

void HostSystem::watch_kernel() {
  kernel_.emplace();
}

std::vector<std::string> HostSystem::kernel_lines() {
  return kernel_ ? kernel_->new_telling_lines() : std::vector<std::string>();
}

std::vector<ProcessId> HostSystem::rank_processes(const std::string& run_id,
                                                  std::span<const RankStart> starts) {
  return agent::rank_processes(run_id, starts);
}

bool HostSystem::is_alive(const ProcessId& process) {
  return agent::is_alive(process);
}

Inspector HostSystem::start_inspector(const std::string& run_id, const Inspection& what) {
  return agent::start_inspector(run_id, what);
}

void HostSystem::signal_inspector(pid_t pid, int signal) {
  agent::signal_inspector(pid, signal);
}

bool HostSystem::inspector_ended(pid_t pid) {
  return agent::inspector_ended(pid);
}

std::optional<ProcessId> HostSystem::engine_of(const std::string& run_id) {
  return agent::engine_of(run_id);
}

void HostSystem::send_signal(const ProcessId& process, int signal) {
  agent::send_signal(process, signal);
}

void HostSystem::send_signal_to_group(const ProcessId& leader, int signal) {
  (void)::kill(-leader.pid, signal);
}

}  // namespace muster::agent
