#include "fake_loop.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace muster::run {
namespace {

constexpr double kBegin = 1'000'000;  // seconds that now() and unix_time() return at the start

struct FakeTimer : sys::Timer {
  FakeTimer(double repeat, std::function<void()> on_time)
      : repeat_s(repeat), call(std::move(on_time)) {}
  double repeat_s;
  std::function<void()> call;
};

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

pid_t FakeProcess::pid() const {
  return ::getpid();  // a process that exists
}

void FakeProcess::end(int code, int signal) {
  if (!std::exchange(running_, false)) return;
  loop_.after(0, [on_end = program_.on_end, code, signal] {
    if (on_end) on_end(code, signal);
  });
}

void FakeLoop::after(double seconds, std::function<void()> call) {
  queue_.push({.at_s = now_s_ + seconds, .number = ++events_, .call = std::move(call)});
}

void FakeLoop::stand_still(double seconds) {
  now_s_ += seconds;
}

void FakeLoop::raise(int signal) {
  const auto found = signals_.find(signal);
  if (found == signals_.end()) return;
  const auto call = found->second;
  call();
}

Result<std::shared_ptr<sys::Process>> FakeLoop::start(sys::Program program) {
  const std::string name = program.argv.at(0);
  auto process = std::make_shared<FakeProcess>(*this, std::move(program));
  if (!on_start || on_start(process)) return process;
  return unexpected(
      Error{.code = ErrorCode::kEngineMissing, .what = "cannot start '" + name + "'"});
}

std::shared_ptr<sys::Timer> FakeLoop::timer(std::chrono::milliseconds first,
                                            std::chrono::milliseconds repeat,
                                            std::function<void()> on_time) {
  auto timer = std::make_shared<FakeTimer>(seconds(repeat), std::move(on_time));
  after(seconds(first), [this, weak = std::weak_ptr<sys::Timer>(timer)] { fire(weak); });
  return timer;
}

void FakeLoop::fire(const std::weak_ptr<sys::Timer>& timer) {
  const auto held = std::static_pointer_cast<FakeTimer>(timer.lock());
  if (!held) return;
  if (held->repeat_s > 0) after(held->repeat_s, [this, timer] { fire(timer); });
  held->call();
}

void FakeLoop::on_signal(int signal, std::function<void()> on_signal) {
  signals_[signal] = std::move(on_signal);
}

void FakeLoop::run() {
  stopped_ = false;
  while (!stopped_ && !queue_.empty() && !waited_for_ever()) {
    const Event next = queue_.top();
    queue_.pop();
    now_s_ = std::max(now_s_, next.at_s);
    next.call();
  }
}

void FakeLoop::drain(std::chrono::milliseconds at_most) {
  bool over = false;
  after(seconds(at_most), [&over, this] {
    over = true;
    stop();
  });
  while (!over && !waited_for_ever()) run();
}

std::chrono::steady_clock::time_point FakeLoop::now() const {
  using Clock = std::chrono::steady_clock;
  // No two calls return the same time, as with a real clock.
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(kBegin + now_s_))) +
         std::chrono::nanoseconds(++calls_of_now_);
}

double FakeLoop::unix_time() const {
  return kBegin + now_s_;
}

}  // namespace muster::run
