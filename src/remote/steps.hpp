// Reaches the hosts of the Slurm allocation in which muster runs. Uses job steps (srun), never ssh.
// When a step's command has ended, Slurm kills the step's remaining processes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// Returns the srun command line that runs a command on one host, whatever else the job runs there.
// Pure.
[[nodiscard]] std::vector<std::string> step_words(const std::string& job, const std::string& host,
                                                  const std::string& command);

// Interprets the end of srun: either the command's own exit, or a step that could not start. Pure.
[[nodiscard]] SessionEnd understand_step(const std::string& job, const std::string& host,
                                         sys::Ended ended);

class Steps : public Transport {
 public:
  explicit Steps(std::string job) : job_(std::move(job)) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  // Waits up to two seconds for sessions that are about to end, then kills them. Without this wait,
  // the allocation could end together with muster and cut off what they are still doing.
  ~Steps() override;

  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& host) override;
  // Empty, because rsync does not work over srun: srun delays output until the end of a line, and
  // rsync's protocol has no lines.
  [[nodiscard]] std::vector<std::string> shell() const override { return {}; }
  [[nodiscard]] Silence silence(const std::string& host) const override;

 private:
  struct Step {
    std::string host;
    std::shared_ptr<sys::Process> process;
  };

  [[nodiscard]] bool all_ended() const;

  std::string job_;
  sys::Loop* loop_ = nullptr;  // the sessions' loop, which outlives this object
  std::vector<Step> steps_;    // all sessions that were opened
};

}  // namespace muster::remote
