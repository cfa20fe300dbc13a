// Makes the attempts of a run, one after the other, until one ends the run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "run/ending.hpp"
#include "run/members.hpp"
#include "run/stage.hpp"

namespace muster::run {

struct AttemptRules {
  Patience patience = {};
  std::string spares = {};  // a host expression
  double longest_wait_s = kLongestWait;
  bool quiet = false;
};

class Attempts {
 public:
  // `turn` is this process's first attempt. It is not the run's first attempt if this process
  // starts an earlier run again.
  Attempts(Stage& stage, const AttemptRules& rules, Turn turn);

  [[nodiscard]] Result<Ending> run();

 private:
  // Returns an ending if this attempt ends the run.
  Result<std::optional<Ending>> attempt();
  [[nodiscard]] std::optional<Ending> refuse(const Gathered& gathered) const;
  void announce(const Look& look);
  [[nodiscard]] Patience patience() const;
  Decision decide(const Record& record, const Verdict& verdict);
  std::optional<Ending> follow_up(const AttemptEnd& end);
  [[nodiscard]] bool is_first() const { return attempts_.empty(); }
  [[nodiscard]] double time_left() const;

  Stage& stage_;
  AttemptRules rules_;
  Members members_;
  Turn turn_;
  std::vector<Attempt> attempts_;
  Ending last_;  // of the latest attempt
  std::chrono::steady_clock::time_point began_ = {};
};

}  // namespace muster::run
