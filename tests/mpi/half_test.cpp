#include "mpi/half.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

TEST(Float16, EveryNumberComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const float wide = static_cast<float>(half);
    if (std::isnan(wide)) {
      EXPECT_GT(bits & 0x7fff, 0x7c00U);
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16::from(wide))));
    } else {
      EXPECT_EQ(Float16::from(wide).bits, bits);
    }
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(static_cast<float>(Float16::from(1.0F)), 1.0F);
  EXPECT_EQ(Float16::from(2049.0F).bits, Float16::from(2048.0F).bits);
  EXPECT_EQ(Float16::from(2051.0F).bits, Float16::from(2052.0F).bits);
  EXPECT_EQ(static_cast<float>(Float16::from(65504.0F)), 65504.0F);
  EXPECT_EQ(static_cast<float>(Float16::from(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16::from(65520.0F))));
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16::from(1e30F))));
  EXPECT_EQ(static_cast<float>(Float16::from(-5.9604645e-8F)), -5.9604645e-8F);
  EXPECT_EQ(Float16::from(1e-10F).bits, 0);
}

TEST(Bfloat16, EveryNumberComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bfloat16 half{static_cast<std::uint16_t>(bits)};
    const float wide = static_cast<float>(half);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16::from(wide))));
    else
      EXPECT_EQ(Bfloat16::from(wide).bits, bits);
  }
}

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(static_cast<float>(Bfloat16::from(257.0F)), 256.0F);
  EXPECT_EQ(static_cast<float>(Bfloat16::from(259.0F)), 260.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(Bfloat16::from(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace muster::mpi
