// Converts fp16 and bf16, which MPI does not know, to float and back, rounding to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace muster::mpi {

struct Bfloat16 {
  std::uint16_t bits;

  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

  static Bfloat16 from(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nearest = (wide + 0x7fff + ((wide >> 16) & 1)) >> 16;
    const bool is_nan = (wide & 0x7fffffff) > 0x7f800000;
    return {static_cast<std::uint16_t>(is_nan ? 0x7fc0 : nearest)};
  }
};

struct Float16 {
  std::uint16_t bits;

  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
    const std::uint32_t rest = bits & 0x7fffU;
    // The exponent biases differ by 112. Multiplying by a power of two adjusts the bias and handles
    // subnormals correctly. Infinity and NaN also need all exponent bits set.
    const float moved = std::bit_cast<float>(rest << 13) * std::bit_cast<float>(0x77800000U);
    const std::uint32_t special = rest >= 0x7c00 ? 0x7f800000U : 0U;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(moved) | special | sign);
  }

  static Float16 from(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((wide >> 16) & 0x8000);
    std::uint32_t rest = wide & 0x7fffffff;
    std::uint32_t half = 0;
    if (rest > 0x7f800000) {
      half = 0x7e00;
    } else if (rest >= 0x47800000) {  // 65536 and above
      half = 0x7c00;
    } else if (rest < 0x38800000) {  // below the smallest normal: the float addition rounds
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000;
    } else {
      rest += 0xfff + ((rest >> 13) & 1);
      half = (rest - 0x38000000) >> 13;
    }
    return {static_cast<std::uint16_t>(sign | half)};
  }
};

}  // namespace muster::mpi
