#include "programs/bench/estimate.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace muster::programs::bench {
namespace {

// Below this size, the time of a message hardly depends on its size.
constexpr std::int64_t kSmallBytes = std::int64_t{64} << 10;

}  // namespace

void Estimate::note(const Step& step, double iteration_s, double loop_s, double whole_s) {
  known_.push_back({step, iteration_s, std::max(0.0, whole_s - loop_s)});
}

// Returns the measured step that is most like this one: preferably with the same backend, then with
// the same operation, then with the nearest size. Of equally similar steps, returns the newest.
const Estimate::Known& Estimate::nearest(const Step& step) const {
  const auto distance = [&](const Known& known) {
    return std::tuple(known.step.backend != step.backend, known.step.operation != step.operation,
                      std::abs(known.step.bytes - step.bytes));
  };
  const Known* best = &known_.front();
  for (const Known& known : known_)
    if (distance(known) <= distance(*best)) best = &known;
  return *best;
}

// Estimates how long the step will take. Assumes that times are proportional to the size from
// kSmallBytes on.
double Estimate::guess_s(const Step& step) const {
  const Known& known = nearest(step);
  const double growth = static_cast<double>(std::max(step.bytes, kSmallBytes)) /
                        static_cast<double>(std::max(known.step.bytes, kSmallBytes));
  const double iteration_s = std::max(known.iteration_s * growth, 1e-9);
  const double iterations =
      std::clamp(seconds_ / iteration_s, static_cast<double>(least_), static_cast<double>(most_));
  return iterations * iteration_s + known.around_s * growth;
}

double Estimate::left_s(const std::vector<Step>& steps, std::size_t next) const {
  if (known_.empty()) return -1;
  double sum = 0;
  for (std::size_t i = next; i < steps.size(); ++i) sum += guess_s(steps[i]);
  return sum;
}

}  // namespace muster::programs::bench
