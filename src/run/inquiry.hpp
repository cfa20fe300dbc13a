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

// A more urgent inquiry takes the place of another one.
enum class Urgency {
  kGlance,   // at a silent run, now and then
  kUser,     // `muster why`
  kSilence,  // muster decides whether the run hangs
  kTimeOut,  // the engine is about to end the ranks
};

class Inquiry {
 public:
  // Sends the order to the hosts, and returns those that it was sent to.
  using Ask = std::function<std::set<std::string>(const agent::Inspection& what)>;
  // An Error: why there is no answer, for the person who asked.
  using Then = std::function<void(Result<HostViews> views)>;

  Inquiry(sys::Loop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  // Calls back once all hosts have answered, or the time for it is over. There is one inquiry at a
  // time: the less urgent one of two, and the later one of equals, is called back at once.
  void begin(const agent::Inspection& what, Urgency urgency, Then then);
  void take(const std::string& host, int number, inspect::HostView view);
  // It answers nothing any more.
  void leave_out(const std::string& host);
  // What is not more urgent than this is called back at once.
  void cancel(Urgency most, const std::string& why);
  [[nodiscard]] std::optional<Urgency> under_way() const;

 private:
  void finish(Result<HostViews> views);

  sys::Loop& loop_;
  Ask ask_;
  Then then_;  // null: none is under way
  Urgency urgency_ = Urgency::kGlance;
  int number_ = 0;
  std::set<std::string> asked_;
  HostViews views_;
  std::chrono::steady_clock::time_point until_ = {};
  std::shared_ptr<sys::Timer> deadline_;
};

}  // namespace muster::run
