// The state of PyTorch's random number generators in this process, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

// The states of the CPU's generator and, if there is one, the current device's.
[[nodiscard]] std::string random_state();
// Splits the bytes into the states of the generators, at least one. Does not depend on PyTorch.
// Throws std::runtime_error for bytes that `random_state` did not produce.
[[nodiscard]] std::vector<std::string> split_random_state(const std::string& state);
// Throws as split_random_state does.
void set_random_state(const std::string& state);
// For a rank without a stored state: gives it a seed of its own, which differs after every step.
void seed_anew(int64_t step, int rank);

}  // namespace muster
