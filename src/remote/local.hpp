// This machine as a host: commands run in a shell here. Alone for a pod, which sees nobody but
// itself; Ssh uses it where this machine is one of the hosts.
#pragma once

#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// What runs a line for a host's shell here.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& command);

class Local : public Transport {
 public:
  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& /*host*/) override {}
  [[nodiscard]] Silence silence(const std::string& /*host*/) const override { return {}; }
};

}  // namespace muster::remote
