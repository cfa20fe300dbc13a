// How muster reaches hosts. One interface; today over ssh, later as a Slurm step or in a pod.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sys/process.hpp"

namespace muster::remote {

struct Task {
  std::string host;
  std::string command;  // a line for the host's login shell
  std::shared_ptr<const std::string> input = nullptr;
  sys::OnOutput on_output = nullptr;  // as sys::Command's
};

// What became of a Task: how the command ended on the host, or why the host was not reached.
struct Outcome {
  std::string host;
  Result<sys::Ended> ended;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // One outcome a task, in the same order; a failure on one host never stops the others.
  // Cost: one session a task, a bounded number of them at once.
  [[nodiscard]] virtual std::vector<Outcome> run(std::span<const Task> tasks,
                                                 std::chrono::milliseconds deadline) = 0;
};

}  // namespace muster::remote
