// A machine's CPUs on the fake clock.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "run/fake_loop.hpp"

namespace muster::scale {

// CPUs that their tasks share equally, each task using at most one of them, as single-threaded
// processes do under a time-sharing kernel. Cost: logarithmic in the number of tasks.
class Processors {
 public:
  Processors(run::FakeLoop& loop, int count) : loop_(loop), count_(count) {}

  // Calls `then` when a new task has used this much CPU time.
  void work(double cpu_s, std::function<void()> then);
  [[nodiscard]] double used_s() const { return used_s_; }  // by all tasks so far

 private:
  struct Task {
    double over_at;  // on served_s_
    std::uint64_t number;
    std::function<void()> then;

    bool operator<(const Task& other) const {
      // inverted, because the queue returns its greatest element first.
      return over_at != other.over_at ? over_at > other.over_at : number > other.number;
    }
  };
  [[nodiscard]] double speed() const;  // of each task
  void advance();
  void plan_next();
  void end_next(std::uint64_t plan);

  run::FakeLoop& loop_;
  double count_;
  std::priority_queue<Task> tasks_;
  double served_s_ = 0;    // CPU time that a task would have got if it had always been there
  double advanced_s_ = 0;  // when served_s_ was valid
  double used_s_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t plans_ = 0;  // only the latest planned end is valid
};

}  // namespace muster::scale
