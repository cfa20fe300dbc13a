// What the processes of a rank are doing at this moment: evidence of a run that says nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/record.hpp"

namespace muster::agent {

struct RankLook {
  int rank = 0;
  // As in /proc/PID/stat, of all processes of the rank: T where one is stopped, else R where one
  // runs, else D where one waits for a device, else S; X: there is none any more.
  std::string state = "X";
  std::string waits_in = {};  // the kernel's name for what that one waits in; empty: not told
  double cpu_s = 0;           // used so far by the processes that are alive

  friend bool operator==(const RankLook&, const RankLook&) = default;
};

// Cost: one pass over /proc.
[[nodiscard]] std::vector<RankLook> look_at(const std::map<int, RankStart>& starts);

}  // namespace muster::agent
