// The learning rate depends only on the step, so an interruption does not change it.
#pragma once

#include <cstdint>
#include <string>

namespace muster::programs {

struct Schedule {
  std::string kind = "cosine";  // or "step", "constant"
  double peak = 0.1;
  int64_t warmup_steps = 0;
  int64_t steps = 0;  // of the whole training
};

// `step` counts from 0.
[[nodiscard]] double learning_rate(const Schedule& schedule, int64_t step);

}  // namespace muster::programs
