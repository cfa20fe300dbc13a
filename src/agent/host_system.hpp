// What the processes that watch over a run (warden, keeper) ask of the machine that they are on:
// the time, to wait, and the run's processes. Tests put a machine of their own in its place.
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
  // As poll(2).
  virtual void wait(std::span<pollfd> watched, std::chrono::milliseconds at_most);

  // How many processes the kernel has killed since it started because memory ran out, on the whole
  // host; 0 if it does not say.
  [[nodiscard]] virtual std::int64_t memory_kills();

  // What the kernel has said since watch_kernel(), of what may explain a failure; empty if it may
  // not be read.
  virtual void watch_kernel();
  [[nodiscard]] virtual std::vector<std::string> kernel_lines();

  // These are what the functions of the same names say.
  [[nodiscard]] virtual std::vector<ProcessId> rank_processes(const std::string& run_id,
                                                              std::span<const RankStart> starts);
  [[nodiscard]] virtual bool is_alive(const ProcessId& process);
  [[nodiscard]] virtual Inspector start_inspector(const std::string& run_id,
                                                  const Inspection& what);
  virtual void signal_inspector(pid_t pid, int signal);
  [[nodiscard]] virtual bool inspector_ended(pid_t pid);
  [[nodiscard]] virtual std::optional<ProcessId> engine_of(const std::string& run_id);
  virtual void send_signal(const ProcessId& process, int signal);
  // To the group that this process leads.
  virtual void send_signal_to_group(const ProcessId& leader, int signal);

 private:
  std::optional<facts::KernelWatch> kernel_;
};

}  // namespace muster::agent
