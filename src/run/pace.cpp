#include "run/pace.hpp"

#include <algorithm>

namespace muster::run {
namespace {

std::int64_t cost_of(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes) + Pace::kPerLine;
}

}  // namespace

void Pace::begin_second(Clock::time_point now) {
  if (now - second_ < std::chrono::seconds(1)) return;
  const double passed_s = std::chrono::duration<double>(now - second_).count();
  const auto more = static_cast<std::int64_t>(
      std::min(passed_s * static_cast<double>(kPerSecond), static_cast<double>(2 * kBurst)));
  room_ = std::min(room_ + more, kBurst);
  const auto regained =
      static_cast<std::int64_t>(static_cast<double>(more) / static_cast<double>(ranks_));
  for (auto& [rank, bytes] : own_used_) bytes -= regained + 1;
  std::erase_if(own_used_, [](const auto& one) { return one.second <= 0; });
  second_ = now;
  due_ += std::exchange(left_out_, 0);
}

// A line that is longer than what is left of the rank's own burst is not shown. Otherwise a single
// long line would silence the rank for minutes.
bool Pace::has_room(int rank, std::size_t bytes, Clock::time_point now) {
  begin_second(now);
  if (room_ > 0) return true;
  const auto used = own_used_.find(rank);
  return cost_of(bytes) <= own_burst_ - (used == own_used_.end() ? 0 : used->second);
}

void Pace::count_shown(int rank, std::size_t bytes) {
  if (room_ > 0) {
    room_ -= cost_of(bytes);
  } else {
    own_used_[rank] += cost_of(bytes);
  }
}

std::uint64_t Pace::take_left_out(Clock::time_point now) {
  begin_second(now);
  return std::exchange(due_, 0);
}

}  // namespace muster::run
