// Programs that run side by side and are spoken to, timers and signals, all on one thread.
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

// Called with each piece of output as it arrives; pieces end anywhere, also inside a line.
using OnOutput = std::function<void(Stream, std::string_view)>;

enum class Input {
  kNone,     // /dev/null
  kPipe,     // Process::write
  kInherit,  // our own
};

struct Program {
  std::vector<std::string> argv;      // argv[0] is looked up in PATH
  std::vector<std::string> env = {};  // "NAME=value", on top of our own environment
  std::string folder = {};            // where it starts; empty: where we are
  Input input = Input::kNone;
  std::vector<int> descriptors = {};  // ours that it gets as 3, 4, ...
  bool own_session = false;           // setsid: a terminal's signals do not reach it
  OnOutput on_output = nullptr;
  // Called once, after the program ended and its outputs were closed; a descendant that keeps them
  // is waited for one second and then given up.
  std::function<void(int code, int signal)> on_end = nullptr;
  std::function<void()> on_exit = nullptr;  // as soon as the program itself ended
};

class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  [[nodiscard]] virtual pid_t pid() const = 0;
  [[nodiscard]] virtual bool running() const = 0;
  // Queued; never waits. What a program does not read is dropped when it ends. The input of one
  // that leaves too much unread is closed.
  virtual void write(std::shared_ptr<const std::string> bytes) = 0;
  virtual void close_input() = 0;  // after what was written
  virtual void kill(int signal) = 0;
  // Our ends of its input and output pipes, for a keeper; -1: closed or none.
  [[nodiscard]] virtual int input_descriptor() const = 0;
  [[nodiscard]] virtual int output_descriptor() const = 0;
};

// Stops when the last copy goes.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;
};

// Stops when the last copy goes.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;
};

// Tests put one of their own in its place, which starts no process and whose clock does not wait.
class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  // An Error when it could not be started; then no callback comes. The Process stays usable after
  // the program's end (it does nothing then). Callbacks come from run() only.
  [[nodiscard]] virtual Result<std::shared_ptr<Process>> start(Program program) = 0;

  // `repeat` zero: once.
  [[nodiscard]] virtual std::shared_ptr<Timer> timer(std::chrono::milliseconds first,
                                                     std::chrono::milliseconds repeat,
                                                     std::function<void()> on_time) = 0;

  // While the descriptor, which the caller keeps open, can be read. It alone keeps no loop running.
  [[nodiscard]] virtual std::shared_ptr<Watch> watch(int descriptor,
                                                     std::function<void()> on_readable) = 0;

  // Instead of what the signal would do.
  virtual void on_signal(int signal, std::function<void()> on_signal) = 0;

  // Signals mean again what they meant before on_signal.
  virtual void drop_signals() = 0;

  // Until stop(), or until no program runs and no timer is left.
  virtual void run() = 0;
  virtual void stop() = 0;
  // Lets what was started and is not held any more come to its end, for so long at most.
  virtual void drain(std::chrono::milliseconds at_most) = 0;

  // The clock of the timers.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // The wall clock: seconds since 1970.
  [[nodiscard]] virtual double unix_time() const = 0;
};

// On libuv, with real processes, signals and clocks.
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

 private:
  std::unique_ptr<uv_loop_s> loop_;
};

}  // namespace muster::sys
