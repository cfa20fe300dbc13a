// How long what is still to be measured will take, from what was.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// One operation at one size with one backend.
struct Step {
  Operation operation{};
  std::size_t backend = 0;  // which of those that were asked for
  std::int64_t bytes = 0;
  bool last = false;  // the largest of its operation and backend
};

class Estimate {
 public:
  // `iterations` are what a size gets at least and at most; `seconds` what it should take.
  Estimate(int least, int most, double seconds) : least_(least), most_(most), seconds_(seconds) {}

  void note(const Step& step, double iteration_s, double loop_s, double whole_s);

  // -1: nothing is known yet.
  [[nodiscard]] double left_s(const std::vector<Step>& steps, std::size_t next) const;

 private:
  struct Known {
    Step step;
    double iteration_s = 0;
    double around_s = 0;  // everything but the loop
  };
  [[nodiscard]] const Known& nearest(const Step& step) const;
  [[nodiscard]] double guess_s(const Step& step) const;

  int least_;
  int most_;
  double seconds_;
  std::vector<Known> known_;
};

}  // namespace muster::programs::bench
