#include "mpi/device_memory.hpp"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

constexpr bool kCuda = true;
constexpr bool kCollective = true;
constexpr bool kMayCopy = true;

TEST(DeviceMemory, NeverReachesACollectiveOfOpenMpi) {
  constexpr CudaSupport kOpenMpi = cuda_support(true, true);
  EXPECT_EQ(way_from_device(kOpenMpi, kCuda, kCollective, !kMayCopy), Way::kRefuse);
  EXPECT_EQ(way_from_device(kOpenMpi, kCuda, kCollective, kMayCopy), Way::kCopy);
  EXPECT_EQ(way_from_device(kOpenMpi, kCuda, !kCollective, !kMayCopy), Way::kDirect);
}

TEST(DeviceMemory, ReachesEveryCallOfAnMpichThatCanTakeIt) {
  constexpr CudaSupport kMpich = cuda_support(false, true);
  EXPECT_EQ(way_from_device(kMpich, kCuda, kCollective, !kMayCopy), Way::kDirect);
  EXPECT_EQ(way_from_device(kMpich, kCuda, !kCollective, kMayCopy), Way::kDirect);
}

TEST(DeviceMemory, ReachesNoMpiThatDoesNotKnowTheDevice) {
  for (const bool is_open_mpi : {true, false}) {
    for (const bool is_collective : {true, false}) {
      const CudaSupport none = cuda_support(is_open_mpi, false);
      EXPECT_EQ(way_from_device(none, kCuda, is_collective, !kMayCopy), Way::kRefuse);
      EXPECT_EQ(way_from_device(none, kCuda, is_collective, kMayCopy), Way::kCopy);
      const CudaSupport aware = cuda_support(is_open_mpi, true);
      EXPECT_EQ(way_from_device(aware, !kCuda, is_collective, !kMayCopy), Way::kRefuse);
    }
  }
}

}  // namespace
}  // namespace muster::mpi
