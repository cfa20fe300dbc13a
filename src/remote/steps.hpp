// The hosts of a Slurm allocation that we are in, reached by steps of it (srun) and never by ssh.
// A step's processes are killed by Slurm when its command has ended.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// srun's words for one command on one host, beside whatever else the job runs there. Pure.
[[nodiscard]] std::vector<std::string> step_words(const std::string& job, const std::string& host,
                                                  const std::string& command);

// How srun's end is to be read: the command's own, or that of a step that did not come to be. Pure.
[[nodiscard]] SessionEnd understand_step(const std::string& job, const std::string& host,
                                         sys::Ended ended);

class Steps : public Transport {
 public:
  explicit Steps(std::string job) : job_(std::move(job)) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  // Waits for the sessions that are about to end: after us the allocation may go, and with it what
  // they still do. Killed after two seconds.
  ~Steps() override;

  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& host) override;
  // srun holds output back until the end of a line, which rsync's protocol does not have.
  [[nodiscard]] std::vector<std::string> shell() const override { return {}; }
  [[nodiscard]] Silence silence(const std::string& host) const override;

 private:
  struct Step {
    std::string host;
    std::shared_ptr<sys::Process> process;
  };

  [[nodiscard]] bool all_ended() const;

  std::string job_;
  sys::Loop* loop_ = nullptr;  // the sessions'; it outlives us
  std::vector<Step> steps_;    // all sessions that were opened
};

}  // namespace muster::remote
