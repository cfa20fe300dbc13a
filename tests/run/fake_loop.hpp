// A loop whose clock jumps from one event to the next and which starts no process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "sys/loop.hpp"

namespace muster::run {

class FakeLoop;

// A program that was "started". It does what the test tells it to do.
class FakeProcess : public sys::Process {
 public:
  FakeProcess(FakeLoop& loop, sys::Program program) : loop_(loop), program_(std::move(program)) {}

  [[nodiscard]] const sys::Program& program() const { return program_; }
  [[nodiscard]] const std::string& input() const { return input_; }
  std::function<void(int signal)> on_kill = nullptr;

  void end(int code, int signal);  // `on_end` is called from the loop, as for a real process

  [[nodiscard]] pid_t pid() const override;
  [[nodiscard]] bool running() const override { return running_; }
  void write(std::shared_ptr<const std::string> bytes) override { input_ += *bytes; }
  void close_input() override {}
  void kill(int signal) override {
    if (running_ && on_kill) on_kill(signal);
  }
  [[nodiscard]] int input_descriptor() const override { return -1; }
  [[nodiscard]] int output_descriptor() const override { return -1; }

 private:
  FakeLoop& loop_;
  sys::Program program_;
  std::string input_;
  bool running_ = true;
};

class FakeLoop : public sys::Loop {
 public:
  // A run that is not over by this time waits for ever.
  static constexpr double kForEver = 24 * 3600;

  // Called with every program that is started. Returns false if the program cannot be started.
  std::function<bool(const std::shared_ptr<FakeProcess>&)> on_start = nullptr;

  void after(double seconds, std::function<void()> call);
  // Suspends muster, as Ctrl-Z does: events that are due meanwhile come late.
  void stand_still(double seconds);
  // Suspends the machine: its timers do not notice, but the hosts have lived on.
  void suspend(double seconds) { suspended_s_ += seconds; }
  void raise(int signal);
  [[nodiscard]] double elapsed() const { return now_s_; }
  [[nodiscard]] bool waited_for_ever() const { return now_s_ >= kForEver; }

  [[nodiscard]] Result<std::shared_ptr<sys::Process>> start(sys::Program program) override;
  [[nodiscard]] std::shared_ptr<sys::Timer> timer(std::chrono::milliseconds first,
                                                  std::chrono::milliseconds repeat,
                                                  std::function<void()> on_time) override;
  // A watched descriptor never becomes readable.
  [[nodiscard]] std::shared_ptr<sys::Watch> watch(int /*descriptor*/,
                                                  std::function<void()> /*call*/) override {
    return nullptr;
  }
  void on_signal(int signal, std::function<void()> on_signal) override;
  void drop_signals() override { signals_.clear(); }
  void run() override;
  void stop() override { stopped_ = true; }
  void drain(std::chrono::milliseconds at_most) override;
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override;
  [[nodiscard]] double unix_time() const override;
  [[nodiscard]] double uptime() const override { return now_s_ + suspended_s_; }

 private:
  struct Event {
    double at_s;
    std::uint64_t number;  // of two events at the same time, the one created first comes first
    std::function<void()> call;

    bool operator<(const Event& other) const {
      // inverted, because the queue returns its greatest element first.
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };
  void fire(const std::weak_ptr<sys::Timer>& timer);

  mutable int calls_of_now_ = 0;
  double now_s_ = 0;
  double suspended_s_ = 0;
  std::uint64_t events_ = 0;
  std::priority_queue<Event> queue_;
  std::map<int, std::function<void()>> signals_;
  bool stopped_ = false;
};

}  // namespace muster::run
