// This machine as a host: runs commands in a local shell. A pod, which reaches only itself, uses
// this class alone. Ssh uses it if this machine is one of the hosts.
#pragma once

#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// The arguments that run a shell command on this machine.
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
