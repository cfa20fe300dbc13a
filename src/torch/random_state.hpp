// PyTorch's random numbers of this process, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

// Of the processor's generator, and of the current device's where there is one.
[[nodiscard]] std::string random_state();
// The states of the single generators in such bytes, at least one. Knows nothing of PyTorch. Throws
// std::runtime_error for what `random_state` did not give.
[[nodiscard]] std::vector<std::string> split_random_state(const std::string& state);
// Throws likewise.
void set_random_state(const std::string& state);
// Where there is no state for this rank: its own, and another one after every step.
void seed_anew(int64_t step, int rank);

}  // namespace muster
