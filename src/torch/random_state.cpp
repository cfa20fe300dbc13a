#include "torch/random_state.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include <torch/torch.h>

namespace muster {
namespace {

std::vector<at::Generator> generators() {
  std::vector<at::Generator> all{at::detail::getDefaultCPUGenerator()};
  if (torch::cuda::is_available()) {
    all.push_back(at::globalContext().defaultGenerator(at::Device(at::kCUDA)));
  }
  return all;
}

}  // namespace

// The state of each generator, preceded by its length.
std::string random_state() {
  std::string state;
  for (at::Generator& generator : generators()) {
    const std::lock_guard lock(generator.mutex());
    const at::Tensor bytes = generator.get_state().contiguous();
    const uint64_t size = bytes.nbytes();
    state.append(reinterpret_cast<const char*>(&size), sizeof size);
    state.append(static_cast<const char*>(bytes.const_data_ptr()), size);
  }
  return state;
}

void set_random_state(const std::string& state) {
  const std::vector<std::string> parts = split_random_state(state);
  std::vector<at::Generator> mine = generators();
  // The counts may differ: the state may come from a host without a device.
  for (size_t i = 0; i < std::min(mine.size(), parts.size()); ++i) {
    at::Tensor bytes = at::empty({static_cast<int64_t>(parts[i].size())}, at::kByte);
    std::memcpy(bytes.data_ptr(), parts[i].data(), parts[i].size());
    const std::lock_guard lock(mine[i].mutex());
    mine[i].set_state(bytes);
  }
}

void seed_anew(int64_t step, int rank) {
  // Mixes the bits, so that neighbouring steps and ranks do not get neighbouring seeds.
  uint64_t seed = static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(rank);
  seed = (seed ^ (seed >> 30U)) * 0xbf58476d1ce4e5b9U;
  seed = (seed ^ (seed >> 27U)) * 0x94d049bb133111ebU;
  torch::manual_seed(seed ^ (seed >> 31U));
}

}  // namespace muster
