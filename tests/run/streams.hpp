// Short names for the streams of ranks.
#pragma once

#include "sys/loop.hpp"

namespace muster::run {

inline constexpr auto kOut = sys::Stream::kOut;
inline constexpr auto kErr = sys::Stream::kErr;

}  // namespace muster::run
