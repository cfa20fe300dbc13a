// Wait statuses of processes that ended with the exit code in the name.
#pragma once

namespace muster::run {

inline constexpr int kExit3 = 3 << 8;
inline constexpr int kExit4 = 4 << 8;

}  // namespace muster::run
