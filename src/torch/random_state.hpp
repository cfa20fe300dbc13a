// The state of PyTorch's random number generators in this process, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

// Returns the state of the CPU's generator and, if there is a CUDA device, that of the current
// device's generator.
[[nodiscard]] std::string random_state();
// Splits the bytes into one state per generator, at least one. Does not depend on PyTorch. Throws
// std::runtime_error for bytes that `random_state` did not produce.
[[nodiscard]] std::vector<std::string> split_random_state(const std::string& state);
// Throws as split_random_state does.
void set_random_state(const std::string& state);
// Seeds the generators of a rank that has no stored state. The seed differs between ranks and
// steps.
void seed_anew(int64_t step, int rank);

}  // namespace muster
