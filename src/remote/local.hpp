// This machine as a host: commands run in a shell here. Used alone in a pod, which reaches only
// itself, and by Ssh if this machine is one of the hosts.
#pragma once

#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// The words that run a shell command on this machine.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& command);

class Local : public Transport {
 public:
  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& /*host*/) override {}
  [[nodiscard]] std::vector<std::string> shell() const override { return {}; }
  [[nodiscard]] Silence silence(const std::string& /*host*/) const override { return {}; }
};

}  // namespace muster::remote
