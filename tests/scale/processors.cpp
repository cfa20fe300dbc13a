#include "processors.hpp"

#include <algorithm>
#include <utility>

namespace muster::scale {

void Processors::work(double cpu_s, std::function<void()> then) {
  advance();
  tasks_.push({.over_at = served_s_ + cpu_s, .number = ++numbers_, .then = std::move(then)});
  used_s_ += cpu_s;
  plan_next();
}

double Processors::speed() const {
  return tasks_.empty() ? 1 : std::min(1.0, count_ / static_cast<double>(tasks_.size()));
}

void Processors::advance() {
  served_s_ += (loop_.elapsed() - advanced_s_) * speed();
  advanced_s_ = loop_.elapsed();
}

void Processors::plan_next() {
  if (tasks_.empty()) return;
  const double in_s = std::max(tasks_.top().over_at - served_s_, 0.0) / speed();
  loop_.after(in_s, [this, plan = ++plans_] { end_next(plan); });
}

void Processors::end_next(std::uint64_t plan) {
  if (plan != plans_) return;
  advance();
  const auto then = tasks_.top().then;
  served_s_ = std::max(served_s_, tasks_.top().over_at);  // no rounding error may delay the task
  tasks_.pop();
  plan_next();
  then();
}

}  // namespace muster::scale
