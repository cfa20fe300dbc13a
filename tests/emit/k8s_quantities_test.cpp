#include "emit/k8s_quantities.hpp"

#include <gtest/gtest.h>

namespace muster::emit {
namespace {

TEST(Bytes, AreWrittenAsKubernetesDoes) {
  for (const char* good : {"1", "16Gi", "512Mi", "1.5G", "64M", "2Ti", "1k", "1Ei"}) {
    EXPECT_EQ(refuse_bytes(good), std::nullopt) << good;
  }
  EXPECT_EQ(bytes_of("1.5Gi"), 1.5 * 0x1p30);
  EXPECT_EQ(bytes_of("64M"), 64e6);
}

TEST(Bytes, OfOtherToolsAreRefusedWithTheRightUnit) {
  EXPECT_EQ(refuse_bytes("16GB"), "'GB' is no unit of Kubernetes; write 16Gi");
  EXPECT_EQ(refuse_bytes("8g"), "'g' is no unit of Kubernetes; write 8Gi");
  EXPECT_EQ(refuse_bytes("512mb"), "'mb' is no unit of Kubernetes; write 512Mi");
  EXPECT_EQ(refuse_bytes("400m"), "'m' means thousandths of a byte; write M or Mi for megabytes");
  EXPECT_EQ(refuse_bytes("1,5Gi"), "a fraction has a point, as in 1.5Gi");
  EXPECT_EQ(refuse_bytes("1e3"), "write it without an exponent, as in 2000 or 2Ki");
  for (const char* bad : {"", "-1Gi", "0", "Gi", "1.2.3", "1.", ".5Gi", "1e", "1 Gi", "0Gi"}) {
    EXPECT_NE(refuse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Cpus, MayBeDivided) {
  for (const char* good : {"1", "0.5", "500m", "64"}) {
    EXPECT_EQ(refuse_cpu(good), std::nullopt) << good;
  }
  for (const char* bad : {"", "0", "0.0001", "-1", "4cores", "1.5m", "0m", "1Gi"}) {
    EXPECT_NE(refuse_cpu(bad), std::nullopt) << bad;
  }
}

TEST(Devices, CannotBeDivided) {
  EXPECT_EQ(refuse_device_count("8"), std::nullopt);
  for (const char* bad : {"", "0", "-1", "0.5", "500m", "1Gi", "99999999999", " 1"}) {
    EXPECT_NE(refuse_device_count(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace muster::emit
