// What waitpid says of a process that ended with such a code.
#pragma once

namespace muster::run {

inline constexpr int kExit3 = 3 << 8;
inline constexpr int kExit4 = 4 << 8;

}  // namespace muster::run
