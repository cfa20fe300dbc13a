// The wait status of a process that ended with this exit code.
#pragma once

namespace muster::run {

inline constexpr int kExit3 = 3 << 8;
inline constexpr int kExit4 = 4 << 8;

}  // namespace muster::run
