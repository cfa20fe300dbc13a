#include "torch/checksums.hpp"

#include <array>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace muster {
namespace {

std::string hexadecimal(const XXH128_hash_t& hash) {
  std::array<char, 33> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx%016llx",
                      static_cast<unsigned long long>(hash.high64),
                      static_cast<unsigned long long>(hash.low64));
  return text.data();
}

}  // namespace

struct Sum::State {
  XXH3_state_t xxh3;
};

Sum::Sum() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

Sum::~Sum() = default;

void Sum::add(const void* data, size_t bytes) {
  XXH3_128bits_update(&state_->xxh3, data, bytes);
}

std::string Sum::text() const {
  return hexadecimal(XXH3_128bits_digest(&state_->xxh3));
}

std::string checksum(const void* data, size_t bytes) {
  return hexadecimal(XXH3_128bits(data, bytes));
}

}  // namespace muster
