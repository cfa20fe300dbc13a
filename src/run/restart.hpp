// Decides whether a failed run is started again, when, and without which hosts. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/record.hpp"

namespace muster::run {

// The part of a finished attempt that the decision needs.
struct Attempt {
  std::string id;
  Reason reason = Reason::kEngineEnded;
  int code = 0;           // of the verdict
  std::string text = {};  // of the verdict
  int failed_rank = -1;   // the first to fail; -1: none
  int failed_status = 0;  // raw wait status
  std::string failed_host = {};
  bool all_well = false;    // every rank succeeded: the work is done, whatever else failed
  bool cannot_run = false;  // the program does not exist or is not executable
  std::vector<std::string> lost_hosts = {};
  double lived_s = 0;
};
[[nodiscard]] Attempt summarize(const Record& record, const Verdict& verdict);

constexpr double kLongestWait = 30;

struct RestartRules {
  int most = 0;         // restarts allowed
  bool spares = false;  // whether there are spare hosts
  double longest_wait_s = kLongestWait;
};

struct BadHost {
  std::string host;
  std::string why;              // for people, such as "lost"
  bool only_for_spare = false;  // only suspected: without a spare, keep it

  friend bool operator==(const BadHost&, const BadHost&) = default;
};

struct Decision {
  bool again = false;
  // For another attempt, the cause. Otherwise, what to print before the verdict; may be empty.
  std::string why = {};
  bool crash_loop = false;  // `why` explains everything, so the verdict is not printed
  double wait_s = 0;
  std::vector<BadHost> bad_hosts = {};
};

// `attempts` are in order and never empty. The last one has just ended.
[[nodiscard]] Decision decide_restart(std::span<const Attempt> attempts, const RestartRules& rules);

// Returns 1, 2, 4, ... seconds, at most `longest_s`. `number` counts from 1.
[[nodiscard]] double back_off_s(int number, double longest_s = kLongestWait);

}  // namespace muster::run
