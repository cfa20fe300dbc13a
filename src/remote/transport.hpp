// How muster reaches hosts: over ssh, by steps of a Slurm job, or by running commands locally.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/interface.hpp"
#include "sys/loop.hpp"
#include "sys/process.hpp"

namespace muster::remote {

struct Task {
  std::string host;
  std::string command;  // for the host's login shell
  std::shared_ptr<const std::string> input = nullptr;
  sys::OnOutput on_output = nullptr;  // as in sys::Command
  std::function<void()> on_end = nullptr;
};

// The result of a Task: how the command ended on the host, or why the host was not reached.
struct Outcome {
  std::string host;
  Result<sys::Ended> ended;
};

// A command on a host that muster talks to while it runs. The destructor closes the command's input
// and ends the session.
class Session : public Interface {
 public:
  virtual void write(std::string bytes) = 0;
  virtual void close_input() = 0;
  // Gives up the session right away. The command on the host continues until it notices.
  virtual void abandon() = 0;
  // The local descriptors of the session's input and output, for the run's keeper (run/keeper.hpp).
  // -1 if there are none.
  [[nodiscard]] virtual int input_descriptor() const = 0;
  [[nodiscard]] virtual int output_descriptor() const = 0;
};

struct SessionEnd {
  // How the command ended, or why the host was not reached or was lost. `out` is empty, and `err`
  // is the end of the error output.
  Result<sys::Ended> ended;
  std::string failure_id = {};  // in the failure catalogue, if known
};

struct SessionPlan {
  std::string host;
  std::string command;                              // for the host's login shell
  std::function<void(std::string_view)> on_output;  // standard output, in pieces
  std::function<void(SessionEnd)> on_end;           // called once
  // Use a new connection instead of the shared one, which may be dead although ssh has not noticed.
  bool fresh = false;
};

// What is known about a host that does not answer.
struct Silence {
  std::string failure_id;  // in the failure catalogue; empty if none fits
  std::string trial;       // a command for the user to try
};

class Transport : public Interface {
 public:
  // Returns one outcome per task, in the same order; a failure on one host never stops the others.
  // Cost: one session per task, with a limited number at a time.
  [[nodiscard]] virtual std::vector<Outcome> run(std::span<const Task> tasks,
                                                 std::chrono::milliseconds deadline) = 0;

  // Gives up the shared connection to this host, if there is one.
  virtual void forget(const std::string& host) = 0;

  // Returns the beginning of a command line that, followed by a host's name and a command, runs
  // that command on the host. It is meant for rsync's -e. Empty if files cannot be sent this way.
  [[nodiscard]] virtual std::vector<std::string> shell() const = 0;

  [[nodiscard]] virtual Silence silence(const std::string& host) const = 0;

  // Callbacks come only from loop.run(), even if the session fails at once. Cost: one local
  // process.
  [[nodiscard]] virtual std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) = 0;
};

}  // namespace muster::remote
