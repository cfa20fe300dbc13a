// Finds the ranks that print faster than muster can pass their output on. Such a rank has to wait,
// which slows the job down. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/record.hpp"

namespace muster::run {

class Floods {
 public:
  using Clock = std::chrono::steady_clock;
  // A rank floods if it waited for half of a time at least this long.
  static constexpr std::chrono::seconds kLookAt{10};
  // Ranks that are found within this time are reported together.
  static constexpr std::chrono::seconds kTogether{4};

  // The host reports that the rank has waited for `waited_s` in all. `bytes` is how much of the
  // rank's output has arrived.
  void take(const std::string& host, int rank, double waited_s, std::uint64_t bytes,
            Clock::time_point now);
  // What to tell the user about ranks that were found since the last call, in one line; empty if
  // there is nothing to say yet. Each rank is reported once.
  [[nodiscard]] std::string news(Clock::time_point now);

 private:
  struct Rank {
    std::string host = {};
    Clock::time_point since = {};  // begin of the time that is looked at
    double waited_s = 0;           // how long it had waited by then
    std::uint64_t bytes = 0;       // what had arrived by then
    bool is_found = false;
  };
  struct Flood {
    int rank = 0;
    std::string host = {};
    double waited_s = 0;
    double of_s = 0;
    double bytes_per_s = 0;
  };

  std::map<int, Rank> ranks_;
  std::vector<Flood> found_;  // not yet reported
  Clock::time_point found_at_ = {};
};

// Says which ranks waited for a good part of the run, and how much they printed. Empty if none did.
[[nodiscard]] std::string waits_text(const Record& record);

}  // namespace muster::run
