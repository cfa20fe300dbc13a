#include "run/inquiry.hpp"

#include <utility>

namespace muster::run {
namespace {

constexpr std::chrono::milliseconds kWayTakes{1000};  // there and back, beyond the host's own time

}  // namespace

void Inquiry::begin(const agent::Inspection& what, Then then) {
  waiting_.push_back({.what = what, .then = std::move(then)});
  if (waiting_.size() == 1) ask_next();
}

void Inquiry::ask_next() {
  agent::Inspection& what = waiting_.front().what;
  what.number = ++number_;
  views_.clear();
  asked_ = ask_(what);
  const auto time =
      asked_.empty() ? std::chrono::milliseconds(0) : what.takes_at_most() + kWayTakes;
  deadline_ = loop_.timer(time, {}, [this] { finish(); });
}

void Inquiry::take(const std::string& host, int number, inspect::HostView view) {
  if (waiting_.empty() || number != number_ || !asked_.contains(host)) return;
  views_[host] = std::move(view);
  if (views_.size() == asked_.size()) finish();
}

void Inquiry::finish() {
  deadline_ = nullptr;
  const Question question = std::move(waiting_.front());
  const auto asked = std::exchange(asked_, {});
  HostViews views = std::exchange(views_, {});
  waiting_.pop_front();
  if (!waiting_.empty()) ask_next();
  question.then(asked, std::move(views));
}

}  // namespace muster::run
