// Asks the wardens of a run's hosts what their ranks are doing, and waits for the answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/inspector.hpp"
#include "base/error.hpp"
#include "inspect/inspection.hpp"
#include "sys/loop.hpp"

namespace muster::run {

using HostViews = std::map<std::string, inspect::HostView>;

// A more urgent inquiry replaces a less urgent one.
enum class Urgency {
  kGlance,   // a periodic look at a silent run
  kUser,     // from `muster why`
  kSilence,  // to decide whether the run hangs
  kTimeOut,  // the engine is about to end the ranks
};

class Inquiry {
 public:
  // Sends the order to the hosts and returns those that it was sent to.
  using Ask = std::function<std::set<std::string>(const agent::Inspection& what)>;
  // Gets the answers, or an Error that tells the user why there are none.
  using Then = std::function<void(Result<HostViews> views)>;

  Inquiry(sys::Loop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  // Calls `then` when all hosts have answered or the time is over. Only one inquiry runs at a time.
  // When a second one begins, the less urgent of the two gets an Error at once; if both are equally
  // urgent, the second one does.
  void begin(const agent::Inspection& what, Urgency urgency, Then then);
  void take(const std::string& host, int number, inspect::HostView view);
  // Stops waiting for this host, which cannot answer any more.
  void leave_out(const std::string& host);
  // Ends the inquiry with the Error `why`, unless it is more urgent than `most`.
  void cancel(Urgency most, const std::string& why);
  [[nodiscard]] std::optional<Urgency> under_way() const;

 private:
  void finish(Result<HostViews> views);

  sys::Loop& loop_;
  Ask ask_;
  Then then_;  // null if no inquiry is under way
  Urgency urgency_ = Urgency::kGlance;
  int number_ = 0;
  std::set<std::string> asked_;
  HostViews views_;
  std::chrono::steady_clock::time_point until_ = {};
  std::shared_ptr<sys::Timer> deadline_;
};

}  // namespace muster::run
