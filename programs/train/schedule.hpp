// The learning rate, as a function of the step alone: where a job stopped and went on does not
// show.
#pragma once

#include <cstdint>
#include <string>

namespace muster::programs {

struct Schedule {
  std::string kind = "cosine";  // step, constant
  double peak = 0.1;
  int64_t warmup_steps = 0;
  int64_t steps = 0;  // all
};

// For the step with this number, counted from 0.
[[nodiscard]] double learning_rate(const Schedule& schedule, int64_t step);

}  // namespace muster::programs
