#include "agent/reach_test.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <poll.h>

#include "agent/reach_caller.hpp"
#include "agent/reach_listener.hpp"

namespace muster::agent {
namespace {

using Clock = ReachCaller::Clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kListenAtMost{40};  // longer than any launcher waits
// How often to check for visitors that send nothing.
constexpr milliseconds kGlance{1000};

class ReachTest {
 public:
  ReachTest(Channel& launcher, const Order& listen)
      : launcher_(launcher), listener_(listen.endpoints, listen.token) {
    launcher_.send(to_line(Report{.kind = Report::Kind::kListening, .ports = listener_.ports()}));
  }

  void run() {
    while (obey() && Clock::now() < end_) {
      wait();
      if (!caller_ || !caller_->over()) continue;
      launcher_.send(
          to_line(Report{.kind = Report::Kind::kConnected, .reached = caller_->reached()}));
      caller_.reset();
    }
  }

 private:
  // Returns false when the test is over.
  bool obey() {
    while (const auto message = launcher_.next()) {
      auto order = parse_order(message->line);
      if (!order || order->kind != Order::Kind::kConnect) return false;
      caller_.emplace(std::move(order->targets), Clock::now());
    }
    return launcher_.open();
  }

  void wait() {
    std::vector<pollfd> polled = {{launcher_.in(), POLLIN, 0},
                                  {launcher_.has_unsent() ? launcher_.out() : -1, POLLOUT, 0}};
    listener_.watch(polled);
    const std::size_t of_caller = polled.size();
    if (caller_) caller_->watch(polled);
    const auto now = Clock::now();
    const milliseconds patience = caller_ ? std::min(caller_->patience(now), kGlance) : kGlance;
    (void)::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    if (polled[0].revents != 0) launcher_.receive();
    if (polled[1].revents != 0) launcher_.flush();
    listener_.take(polled.data() + 2, now);
    if (caller_) caller_->take(polled.data() + of_caller, Clock::now());
  }

  Channel& launcher_;
  ReachListener listener_;
  std::optional<ReachCaller> caller_;
  Clock::time_point end_ = Clock::now() + kListenAtMost;
};

}  // namespace

void test_reach(Channel& launcher, const Order& listen) {
  ReachTest(launcher, listen).run();
}

}  // namespace muster::agent
