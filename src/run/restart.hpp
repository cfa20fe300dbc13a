// Whether a run that ended badly is started again, when, and without which hosts. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/record.hpp"

namespace muster::run {

// What counts of an attempt that has ended.
struct Attempt {
  std::string id;
  Reason reason = Reason::kEngineEnded;
  int code = 0;           // the verdict's
  std::string text = {};  // likewise
  int failed_rank = -1;   // the first to fail; -1: none did
  int failed_status = 0;  // its raw wait status
  std::string failed_host = {};
  bool all_well = false;    // every rank ended well: the work is done, whatever else failed
  bool cannot_run = false;  // the program is not there, or no program
  std::vector<std::string> lost_hosts = {};
  double lived_s = 0;
};
[[nodiscard]] Attempt summarize(const Record& record, const Verdict& verdict);

constexpr double kLongestWait = 30;

struct RestartRules {
  int most = 0;         // restarts
  bool spares = false;  // there are hosts to take another's place
  double longest_wait_s = kLongestWait;
};

struct BadHost {
  std::string host;
  std::string why;              // for people: "lost"
  bool only_for_spare = false;  // suspected: better with it than with one host fewer

  friend bool operator==(const BadHost&, const BadHost&) = default;
};

struct Decision {
  bool again = false;
  // Not again: what is to be said about that before the verdict; empty: nothing. Again: the cause.
  std::string why = {};
  bool crash_loop = false;  // `why` says all, the verdict need not be told
  double wait_s = 0;
  std::vector<BadHost> bad_hosts = {};
};

// `attempts` in their order, never empty; the last has just ended.
[[nodiscard]] Decision decide_restart(std::span<const Attempt> attempts, const RestartRules& rules);

// 1, 2, 4, ... seconds; `number` counts from 1.
[[nodiscard]] double back_off_s(int number, double longest_s = kLongestWait);

}  // namespace muster::run
