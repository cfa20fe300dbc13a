// This machine as the only host: commands run in a shell here, without any way to another. For a
// pod, which sees nobody but itself.
#pragma once

#include "remote/transport.hpp"

namespace muster::remote {

class Local : public Transport {
 public:
  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;
  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& /*host*/) override {}
  [[nodiscard]] Silence silence(const std::string& /*host*/) const override { return {}; }
};

}  // namespace muster::remote
