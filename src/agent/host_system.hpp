// What warden and keeper, the processes that watch over a run, need from their machine: the time,
// waiting, and the run's processes. Tests replace it with a simulated machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "agent/inspector.hpp"
#include "agent/record.hpp"
#include "facts/kernel_log.hpp"

namespace muster::agent {

class HostSystem {
 public:
  using Clock = std::chrono::steady_clock;

  HostSystem() = default;
  HostSystem(const HostSystem&) = delete;
  HostSystem& operator=(const HostSystem&) = delete;
  virtual ~HostSystem() = default;

  [[nodiscard]] virtual Clock::time_point now() const;
  [[nodiscard]] virtual double unix_time() const;  // seconds since 1970
  // Works like poll(2).
  virtual void wait(std::span<pollfd> watched, std::chrono::milliseconds at_most);

  // How many processes on the whole host the kernel has killed since boot because memory ran out; 0
  // if the kernel does not report it.
  [[nodiscard]] virtual std::int64_t memory_kills();

  // After watch_kernel(), kernel_lines() returns the kernel messages since the last call of either
  // that may explain a failure. It returns none if this user may not read them.
  virtual void watch_kernel();
  [[nodiscard]] virtual std::vector<std::string> kernel_lines();

  // These call the functions of the same names in this namespace.
  [[nodiscard]] virtual std::vector<ProcessId> rank_processes(const std::string& run_id,
                                                              std::span<const RankStart> starts);
  [[nodiscard]] virtual bool is_alive(const ProcessId& process);
  [[nodiscard]] virtual Inspector start_inspector(const std::string& run_id,
                                                  const Inspection& what);
  virtual void signal_inspector(pid_t pid, int signal);
  [[nodiscard]] virtual bool inspector_ended(pid_t pid);
  [[nodiscard]] virtual std::optional<ProcessId> engine_of(const std::string& run_id);
  virtual void send_signal(const ProcessId& process, int signal);
  // Signals the process group of `leader`.
  virtual void send_signal_to_group(const ProcessId& leader, int signal);

 private:
  std::optional<facts::KernelWatch> kernel_;
};

}  // namespace muster::agent
