// PyTorch's random numbers of this process, as bytes.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

// Of the processor's generator, and of the current device's where there is one.
[[nodiscard]] std::string random_state();
// Throws std::runtime_error for what `random_state` did not give.
void set_random_state(const std::string& state);
// Where there is no state for this rank: its own, and another one after every step.
void seed_anew(int64_t step, int rank);

}  // namespace muster
