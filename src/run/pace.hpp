// Limits how many of the ranks' lines a terminal gets, so that it stays usable when ranks print
// without end. Pure.
//
// A burst is shown in full. After that, the terminal gets the first lines of each second. When
// these are used up, each rank still has a small burst and share of its own, so that a rank that
// floods does not hide what the others print, such as a traceback.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace muster::run {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  // In bytes. Each line counts for kPerLine more than its length, because short lines cost a
  // terminal time too.
  static constexpr std::int64_t kBurst = std::int64_t{2} << 20;
  static constexpr std::int64_t kPerSecond = std::int64_t{64} << 10;
  static constexpr std::int64_t kPerLine = 64;
  // Each rank's own burst, unless there are so many ranks that all of them together would get more
  // than kOwnBursts.
  static constexpr std::int64_t kOwnBurst = std::int64_t{16} << 10;
  static constexpr std::int64_t kOwnBursts = 2 * kBurst;
  static constexpr std::int64_t kLeastOwnBurst = std::int64_t{2} << 10;

  // `ranks` is the number of ranks that are shown.
  explicit Pace(int ranks)
      : ranks_(std::max(ranks, 1)),
        own_burst_(std::clamp(kOwnBursts / ranks_, kLeastOwnBurst, kOwnBurst)) {}

  // Whether a line of this rank and length may be shown now.
  [[nodiscard]] bool has_room(int rank, std::size_t bytes, Clock::time_point now);
  void count_shown(int rank, std::size_t bytes);
  void count_left_out(std::size_t lines) { left_out_ += lines; }

  [[nodiscard]] bool has_left_out() const { return left_out_ + due_ > 0; }
  // How many lines were left out in the seconds before this one, or until now, and not yet told.
  [[nodiscard]] std::uint64_t take_left_out(Clock::time_point now);
  [[nodiscard]] std::uint64_t take_all_left_out() {
    return std::exchange(due_, 0) + std::exchange(left_out_, 0);
  }

 private:
  void begin_second(Clock::time_point now);

  std::int64_t ranks_;
  std::int64_t own_burst_;
  std::int64_t room_ = kBurst;            // for all ranks, in bytes
  Clock::time_point second_ = {};         // begin of the current second
  std::map<int, std::int64_t> own_used_;  // by rank: how much of its own burst it has used
  std::uint64_t left_out_ = 0;            // lines, in the current second
  std::uint64_t due_ = 0;                 // lines, in earlier seconds
};

}  // namespace muster::run
