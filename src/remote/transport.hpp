// How muster reaches hosts: over ssh, by steps of a Slurm job, or not at all, being the host.
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
  std::string command;  // a line for the host's login shell
  std::shared_ptr<const std::string> input = nullptr;
  sys::OnOutput on_output = nullptr;  // as sys::Command's
  std::function<void()> on_end = nullptr;
};

// What became of a Task: how the command ended on the host, or why the host was not reached.
struct Outcome {
  std::string host;
  Result<sys::Ended> ended;
};

// A command on a host that is spoken to while it runs. It ends when the last copy goes: its input
// is closed.
class Session : public Interface {
 public:
  virtual void write(std::string bytes) = 0;
  virtual void close_input() = 0;
  // Ends this side at once; the command on the host goes on until it notices.
  virtual void abandon() = 0;
  // Descriptors of the way there and back, for a keeper; -1: none.
  [[nodiscard]] virtual int input_descriptor() const = 0;
  [[nodiscard]] virtual int output_descriptor() const = 0;
};

struct SessionEnd {
  // How the command ended (`out` is empty, `err` the tail of what it said there), or why the host
  // was not reached or was lost.
  Result<sys::Ended> ended;
  std::string failure_id = {};  // of the failure catalogue, where it is known
};

struct SessionPlan {
  std::string host;
  std::string command;                              // a line for the host's login shell
  std::function<void(std::string_view)> on_output;  // standard output, in pieces
  std::function<void(SessionEnd)> on_end;           // once
  // A connection of its own, not the shared one, which may be dead without knowing.
  bool fresh = false;
};

// What is known of a host that does not answer.
struct Silence {
  std::string failure_id;  // of the failure catalogue; empty: none fits
  std::string trial;       // a command for people to try
};

class Transport : public Interface {
 public:
  // One outcome a task, in the same order; a failure on one host never stops the others.
  // Cost: one session a task, a bounded number of them at once.
  [[nodiscard]] virtual std::vector<Outcome> run(std::span<const Task> tasks,
                                                 std::chrono::milliseconds deadline) = 0;

  // The shared connection to this host is given up, if there is one.
  virtual void forget(const std::string& host) = 0;

  // Words that run a command on a host when its name and the command follow them; rsync's -e.
  // Empty: files cannot be sent this way.
  [[nodiscard]] virtual std::vector<std::string> shell() const = 0;

  [[nodiscard]] virtual Silence silence(const std::string& host) const = 0;

  // Callbacks come from loop.run() only, also when it fails at once. Cost: one process here.
  [[nodiscard]] virtual std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) = 0;
};

}  // namespace muster::remote
