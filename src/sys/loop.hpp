// Runs programs side by side and exchanges data with them; also timers and signals. All on one
// thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

struct uv_loop_s;  // NOLINT(readability-identifier-naming): libuv's name

namespace muster::sys {

enum class Stream { kOut, kErr };

// Called with each piece of output as it arrives. A piece may end anywhere, even inside a line.
using OnOutput = std::function<void(Stream, std::string_view)>;

enum class Input {
  kNone,     // /dev/null
  kPipe,     // written with Process::write
  kInherit,  // this process's own input
};

struct Program {
  std::vector<std::string> argv;      // argv[0] is looked up in PATH
  std::vector<std::string> env = {};  // "NAME=value", added to our own environment
  std::string folder = {};            // working directory; empty: ours
  Input input = Input::kNone;
  std::vector<int> descriptors = {};  // our descriptors that it gets as 3, 4, ...
  // Starts the program in its own session (setsid), where a terminal's signals, such as Ctrl-C, do
  // not reach it.
  bool own_session = false;
  OnOutput on_output = nullptr;
  // Called once, after the program has ended and its outputs are closed. If a descendant keeps the
  // outputs open, the call comes at the latest one second after the program's end.
  std::function<void(int code, int signal)> on_end = nullptr;
  std::function<void()> on_exit = nullptr;  // called as soon as the program itself has ended
};

class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  [[nodiscard]] virtual pid_t pid() const = 0;
  [[nodiscard]] virtual bool running() const = 0;
  // Queues the bytes and never waits. Bytes that the program has not read when it ends are dropped.
  // If too many bytes are unread, the input is closed.
  virtual void write(std::shared_ptr<const std::string> bytes) = 0;
  virtual void close_input() = 0;  // after the queued bytes are written
  virtual void kill(int signal) = 0;
  // Our ends of its input and output pipes, which the keeper (see run/keeper.hpp) also holds; -1:
  // closed or none.
  [[nodiscard]] virtual int input_descriptor() const = 0;
  [[nodiscard]] virtual int output_descriptor() const = 0;
};

// A timer stops when its last reference is destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;
};

// A watch stops when its last reference is destroyed.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;
};

// An interface, because tests use a loop that starts no processes and whose clock does not wait.
class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  // Returns an Error if the program could not be started; then there are no callbacks. After the
  // program's end, the Process can still be used but does nothing. Callbacks come only from run().
  [[nodiscard]] virtual Result<std::shared_ptr<Process>> start(Program program) = 0;

  // If `repeat` is zero, the timer fires once.
  [[nodiscard]] virtual std::shared_ptr<Timer> timer(std::chrono::milliseconds first,
                                                     std::chrono::milliseconds repeat,
                                                     std::function<void()> on_time) = 0;

  // Calls back while the descriptor is readable. The caller keeps the descriptor open. A watch
  // alone does not keep run() going.
  [[nodiscard]] virtual std::shared_ptr<Watch> watch(int descriptor,
                                                     std::function<void()> on_readable) = 0;

  // The callback replaces the signal's usual effect.
  virtual void on_signal(int signal, std::function<void()> on_signal) = 0;

  // Restores what signals did before on_signal.
  virtual void drop_signals() = 0;

  // Runs until stop(), or until no program runs and no timer is left.
  virtual void run() = 0;
  virtual void stop() = 0;
  // Waits for programs to end whose Process nobody holds any more, but at most this long.
  virtual void drain(std::chrono::milliseconds at_most) = 0;

  // The clock that the timers use.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // The wall clock: seconds since 1970.
  [[nodiscard]] virtual double unix_time() const = 0;
  // Seconds since this machine was booted, including the time that it was suspended.
  [[nodiscard]] virtual double uptime() const = 0;
};

// The real loop: uses libuv, and real processes, signals and clocks.
class UvLoop : public Loop {
 public:
  UvLoop();
  ~UvLoop() override;

  [[nodiscard]] Result<std::shared_ptr<Process>> start(Program program) override;
  [[nodiscard]] std::shared_ptr<Timer> timer(std::chrono::milliseconds first,
                                             std::chrono::milliseconds repeat,
                                             std::function<void()> on_time) override;
  [[nodiscard]] std::shared_ptr<Watch> watch(int descriptor,
                                             std::function<void()> on_readable) override;
  void on_signal(int signal, std::function<void()> on_signal) override;
  void drop_signals() override;
  void run() override;
  void stop() override;
  void drain(std::chrono::milliseconds at_most) override;
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override;
  [[nodiscard]] double unix_time() const override;
  [[nodiscard]] double uptime() const override;

 private:
  std::unique_ptr<uv_loop_s> loop_;
};

}  // namespace muster::sys
