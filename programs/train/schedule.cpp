#include "programs/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muster::programs {

double learning_rate(const Schedule& schedule, int64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.peak * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup_steps);
  }
  const auto left =
      static_cast<double>(std::max<int64_t>(1, schedule.steps - schedule.warmup_steps));
  const double done = std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / left);
  if (schedule.kind == "cosine") {
    return schedule.peak * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  }
  if (schedule.kind == "step") {
    const double part =
        static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, schedule.steps));
    return schedule.peak * (part < 0.5 ? 1.0 : part < 0.75 ? 0.1 : 0.01);
  }
  return schedule.peak;
}

}  // namespace muster::programs
