#include "layout/rdma.hpp"

#include <gtest/gtest.h>

#include "layout/world.hpp"

namespace muster::layout {
namespace {

TEST(Rdma, TakesTheGidThatIsBothIpv4AndRoceV2) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth0", 1)};
  const auto rdma = choose_rdma(host, "eth0");
  ASSERT_TRUE(rdma);
  EXPECT_EQ(rdma->device, "mlx5_0");
  EXPECT_EQ(rdma->gid_index, 3);
}

TEST(Rdma, PrefersTheDeviceOfTheJobsInterface) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth7", 1), roce("mlx5_1", "eth0", 1)};
  EXPECT_EQ(choose_rdma(host, "eth0")->device, "mlx5_1");
  EXPECT_EQ(choose_rdma(host, "eth9")->device, "mlx5_0");
  host.rdma[0].gids.push_back({9, gid_of(9), "RoCE v2", "eth9"});
  EXPECT_EQ(choose_rdma(host, "eth9")->gid_index, 9);
}

TEST(Rdma, NeedsAnActivePortAndAUsableGid) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth0", 1)};
  host.rdma[0].active = false;
  EXPECT_FALSE(choose_rdma(host, "eth0"));
  host.rdma[0].active = true;
  host.rdma[0].gids.pop_back();
  EXPECT_FALSE(choose_rdma(host, "eth0"));
}

TEST(Rdma, OfNativeInfinibandNeedsNoGid) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {infiniband("mlx5_0")};
  EXPECT_EQ(choose_rdma(host, "eth0")->gid_index, -1);
  EXPECT_FALSE(has_rdma(host, host.interfaces[1]));
  host.interfaces[1].kind = facts::InterfaceKind::kInfiniband;
  EXPECT_TRUE(has_rdma(host, host.interfaces[1]));
}

}  // namespace
}  // namespace muster::layout
