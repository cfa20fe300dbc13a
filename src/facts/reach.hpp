// Results of testing whether hosts can connect to each other.
#pragma once

#include <cstddef>

namespace muster::facts {

enum class Reached {
  kYes,
  kRefused,    // rejected although a program listens there, so by something in between
  kTimedOut,   // no answer at all
  kNoRoute,    // the network reported that there is no route
  kCutOff,     // accepted, but closed before the listener answered
  kLargeLost,  // small packets arrive, but full-size ones do not
  kUntried,    // there was no time, or the result says nothing about the network
};

// Stands for the launcher where a Trial has the number of a host.
inline constexpr std::size_t kLauncher = static_cast<std::size_t>(-1);

// A connection that was tried. Hosts are numbered in the order of the cluster.
struct Trial {
  std::size_t from = 0;
  std::size_t to = 0;
  int port = 0;
  Reached how = Reached::kUntried;

  friend bool operator==(const Trial&, const Trial&) = default;
};

}  // namespace muster::facts
