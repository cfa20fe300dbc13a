// What has changed on a host since its good state was saved. Pure.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace muster::checks {

enum class Part { kMemory, kCpus, kGpus, kRdma, kInterfaces, kLimits, kSoftware };

// One change, such as "the rate of mlx5_0 is 100 Gb/sec; it was 400 Gb/sec".
struct Change {
  Part part = Part::kMemory;
  bool for_worse = false;  // less hardware, a slower link, a lower limit
  std::string aspect;      // "rate"
  std::string of = {};     // the device, such as "mlx5_0"; empty for the host itself
  std::string now;
  std::string then;
};

// Compares only what both sides know: a fact that a probe could not determine, or that an older
// muster did not have, is not a change. Cost: n log n in the host's devices.
[[nodiscard]] std::vector<Change> changes_between(const facts::Facts& then,
                                                  const facts::Facts& now);

}  // namespace muster::checks
