// Whether hosts can connect to each other: how each connection that was tried ended.
#pragma once

#include <cstddef>

namespace muster::facts {

enum class Reached {
  kYes,
  kRefused,    // with a listener at that port: something in between rejects
  kTimedOut,   // no answer at all
  kNoRoute,    // the network said that it cannot get there
  kCutOff,     // accepted, then closed before the listener answered
  kLargeLost,  // small packets arrive, full-size ones do not
  kUntried,    // there was no time, or the answer says nothing about the network
};

// The launcher, where it is not the number of a host.
inline constexpr std::size_t kLauncher = static_cast<std::size_t>(-1);

// One connection that was tried. Hosts are numbered in the cluster's order.
struct Trial {
  std::size_t from = 0;
  std::size_t to = 0;
  int port = 0;
  Reached how = Reached::kUntried;

  friend bool operator==(const Trial&, const Trial&) = default;
};

}  // namespace muster::facts
