// Asks the wardens of a run's hosts what their ranks are doing, and waits for the answers.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/inspector.hpp"
#include "inspect/inspection.hpp"
#include "sys/loop.hpp"

namespace muster::run {

using HostViews = std::map<std::string, inspect::HostView>;

class Inquiry {
 public:
  // Sends the order to the hosts, and returns those that it was sent to.
  using Ask = std::function<std::set<std::string>(const agent::Inspection& what)>;
  using Then = std::function<void(const std::set<std::string>& asked, HostViews views)>;

  Inquiry(sys::Loop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  // Calls back once all hosts have answered, or the time for it is over. One inquiry at a time:
  // the next one waits.
  void begin(const agent::Inspection& what, Then then);
  void take(const std::string& host, int number, inspect::HostView view);
  [[nodiscard]] bool under_way() const { return !waiting_.empty(); }

 private:
  struct Question {
    agent::Inspection what;
    Then then;
  };

  void ask_next();
  void finish();

  sys::Loop& loop_;
  Ask ask_;
  std::deque<Question> waiting_;  // the first one is under way
  int number_ = 0;
  std::set<std::string> asked_;
  HostViews views_;
  std::shared_ptr<sys::Timer> deadline_;
};

}  // namespace muster::run
