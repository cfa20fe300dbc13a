// Estimates the remaining time from earlier measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// A measurement of one operation at one size with one backend.
struct Step {
  Operation operation{};
  std::size_t backend = 0;  // index into the requested backends
  std::int64_t bytes = 0;
  bool last = false;  // the largest size of its operation and backend
};

class Estimate {
 public:
  // `least` and `most`: limits for the iterations per size. `seconds`: the time that a size should
  // take.
  Estimate(int least, int most, double seconds) : least_(least), most_(most), seconds_(seconds) {}

  void note(const Step& step, double iteration_s, double loop_s, double whole_s);

  // Returns the estimated seconds for all steps from index `next` on, or -1 if nothing has been
  // measured yet.
  [[nodiscard]] double left_s(const std::vector<Step>& steps, std::size_t next) const;

 private:
  struct Known {
    Step step;
    double iteration_s = 0;
    double around_s = 0;  // time outside the loop of iterations
  };
  [[nodiscard]] const Known& nearest(const Step& step) const;
  [[nodiscard]] double guess_s(const Step& step) const;

  int least_;
  int most_;
  double seconds_;
  std::vector<Known> known_;
};

}  // namespace muster::programs::bench
