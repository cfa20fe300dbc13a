// Runs sessions and tasks as local processes: ssh, srun, or the command itself.
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
  std::vector<std::string> env = {};  // "NAME=value", added to our own environment
  // Returns what the end of the process says about the command and the host. Not set if the process
  // is the command itself.
  std::function<SessionEnd(sys::Ended)> understand = {};
  // Whether Session::abandon kills the process. If false, it only closes the process's input. Set
  // it to false if the process is the command itself, which must continue.
  bool killed_when_abandoned = true;
  // Called once the process runs. The process may outlive the Session.
  std::function<void(std::shared_ptr<sys::Process>)> on_started = {};
};

// If the process cannot be started, loop.run() calls plan.on_end with the error.
[[nodiscard]] std::shared_ptr<Session> start_session(sys::Loop& loop, SessionPlan plan,
                                                     Result<SessionProcess> process);

// Starts one process per task, with the arguments that `words_for` returns. Results are in the same
// order.
[[nodiscard]] std::vector<Result<sys::Ended>> run_processes(
    std::span<const Task> tasks, std::chrono::milliseconds deadline, std::size_t fan_out,
    const std::function<std::vector<std::string>(const Task&)>& words_for);

// The outcome of a task whose process did not end before its deadline.
[[nodiscard]] Outcome no_answer(const std::string& host);

}  // namespace muster::remote
