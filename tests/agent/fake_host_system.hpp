// A fake machine. Its clock jumps to the next event, and its processes are only numbers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "agent/host_system.hpp"

namespace muster::agent {

class FakeHostSystem : public HostSystem {
 public:
  static constexpr double kForEver = 3600;  // a wait after this time counts as a hang and throws

  // Calls `call` this many seconds after the beginning.
  void at(double seconds, std::function<void()> call) { script_.emplace(seconds, std::move(call)); }
  std::function<void()> before_wait = nullptr;

  std::map<pid_t, bool> processes = {};  // living processes, and whether SIGTERM ends them
  std::set<pid_t> immortal = {};         // processes in state D
  std::vector<std::pair<pid_t, int>> signals = {};
  std::optional<ProcessId> engine = {};
  std::int64_t killed_for_memory = 0;
  std::vector<std::string> kernel_said = {};

  [[nodiscard]] double elapsed() const { return now_s_; }
  [[nodiscard]] bool was_sent(pid_t pid, int signal) const {
    return std::find(signals.begin(), signals.end(), std::pair(pid, signal)) != signals.end();
  }

  [[nodiscard]] Clock::time_point now() const override {
    return Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1000 + now_s_)));
  }
  [[nodiscard]] double unix_time() const override { return 1e6 + now_s_; }

  // Polls real descriptors without waiting. If none is ready, the clock advances.
  void wait(std::span<pollfd> watched, std::chrono::milliseconds at_most) override {
    if (before_wait) before_wait();
    if (::poll(watched.data(), watched.size(), 0) > 0 && ++busy_ < kTooBusy) return;
    busy_ = 0;
    if (now_s_ > kForEver) throw std::runtime_error("it waits for ever");
    const double until = now_s_ + std::chrono::duration<double>(at_most).count();
    if (script_.empty() || script_.begin()->first > until) {
      now_s_ = until;
      return;
    }
    now_s_ = std::max(now_s_, script_.begin()->first);
    const auto call = script_.begin()->second;
    script_.erase(script_.begin());
    call();
  }

  void watch_kernel() override {}
  [[nodiscard]] std::vector<std::string> kernel_lines() override {
    return std::exchange(kernel_said, {});
  }
  [[nodiscard]] std::int64_t memory_kills() override { return killed_for_memory; }
  [[nodiscard]] std::vector<ProcessId> rank_processes(
      const std::string& /*run_id*/, std::span<const RankStart> /*starts*/) override {
    std::vector<ProcessId> alive;
    for (const auto& [pid, dies] : processes) alive.push_back({.pid = pid, .start = 1});
    return alive;
  }
  [[nodiscard]] bool is_alive(const ProcessId& process) override {
    return processes.contains(process.pid);
  }
  // What the inspector prints. Without a value, it cannot be started.
  std::optional<std::string> inspector_says = {};
  bool inspector_ends = true;
  bool inspector_hangs = false;  // stuck in the kernel, so no signal ends it
  std::vector<int> inspector_signals = {};

  [[nodiscard]] Inspector start_inspector(const std::string& /*run_id*/,
                                          const Inspection& /*what*/) override {
    int ends[2] = {-1, -1};
    if (!inspector_says || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    (void)!::write(ends[1], inspector_says->data(), inspector_says->size());
    inspector_writes_ = sys::Fd(ends[1]);
    if (inspector_ends) inspector_writes_ = sys::Fd();
    return {.pid = kInspector, .out = sys::Fd(ends[0])};
  }
  void signal_inspector(pid_t /*pid*/, int signal) override { inspector_signals.push_back(signal); }
  [[nodiscard]] bool inspector_ended(pid_t /*pid*/) override { return !inspector_hangs; }
  static constexpr pid_t kInspector = 900;
  [[nodiscard]] std::optional<ProcessId> engine_of(const std::string& /*run_id*/) override {
    return engine;
  }
  void send_signal(const ProcessId& process, int signal) override {
    signals.emplace_back(process.pid, signal);
    const auto found = processes.find(process.pid);
    if (found == processes.end() || immortal.contains(process.pid)) return;
    if (signal == SIGKILL || (signal == SIGTERM && found->second)) processes.erase(found);
  }
  void send_signal_to_group(const ProcessId& leader, int signal) override {
    send_signal(leader, signal);
  }

 private:
  // After this many polls in a row that find ready descriptors, the clock advances anyway.
  static constexpr int kTooBusy = 1000;

  sys::Fd inspector_writes_;
  double now_s_ = 0;
  int busy_ = 0;
  std::multimap<double, std::function<void()>> script_;
};

}  // namespace muster::agent
