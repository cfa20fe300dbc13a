// A Session that is a process here: ssh, srun, or the command itself. And tasks run that way.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

struct SessionProcess {
  std::vector<std::string> argv;
  std::vector<std::string> env = {};  // "NAME=value", on top of our own environment
  // What the end of the process says of the command and of the host; empty: it is the command's.
  std::function<SessionEnd(sys::Ended)> understand = {};
  // Session::abandon kills the process; else it only closes its input: for a command that is the
  // process itself and that must go on.
  bool killed_when_abandoned = true;
  // Called with the process once it runs; it outlives the Session until it has ended.
  std::function<void(std::shared_ptr<sys::Process>)> on_started = {};
};

// Where it cannot be started, plan.on_end is told so from loop.run().
[[nodiscard]] std::shared_ptr<Session> start_session(sys::Loop& loop, SessionPlan plan,
                                                     Result<SessionProcess> process);

// One process a task, started with the words that `words_for` gives; results in the same order.
[[nodiscard]] std::vector<Result<sys::Ended>> run_processes(
    std::span<const Task> tasks, std::chrono::milliseconds deadline, std::size_t fan_out,
    const std::function<std::vector<std::string>(const Task&)>& words_for);

// The outcome of a task whose process did not end within its deadline.
[[nodiscard]] Outcome no_answer(const std::string& host);

}  // namespace muster::remote
