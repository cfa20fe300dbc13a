#include <cstring>
#include <stdexcept>

#include "torch/random_state.hpp"

namespace muster {

std::vector<std::string> split_random_state(const std::string& state) {
  std::vector<std::string> parts;
  size_t at = 0;
  do {
    uint64_t size = 0;
    const size_t left = state.size() - at;
    if (left >= sizeof size) std::memcpy(&size, state.data() + at, sizeof size);
    if (left < sizeof size || size > left - sizeof size) {
      throw std::runtime_error("the state of the random number generators is cut off");
    }
    parts.push_back(state.substr(at + sizeof size, size));
    at += sizeof size + size;
  } while (at < state.size());
  return parts;
}

}  // namespace muster
