#include "layout/rails.hpp"

#include <gtest/gtest.h>

#include "layout/machines.hpp"

namespace muster::layout {
namespace {

std::vector<std::string> names(const HostRails& found) {
  std::vector<std::string> list;
  for (const Rail& rail : found.rails) list.push_back(rail.device);
  return list;
}

using Names = std::vector<std::string>;

TEST(Rails, TakeTheGidThatIsBothIpv4AndRoceV2) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth0", 1)};
  const auto found = find_rails(host, Fabric::kRoceIpv4, "eth0");
  ASSERT_EQ(names(found), Names{"mlx5_0"});
  EXPECT_EQ(found.rails[0].gid_index, 3);
  EXPECT_EQ(found.rails[0].address, "198.18.0.1");
  EXPECT_EQ(found.rails[0].network, "198.18.0.0/16");
  EXPECT_EQ(found.rails[0].interface, "eth0");
}

TEST(Rails, TakeTheGidOfTheJobsInterfaceFirst) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth0", 1)};
  host.interfaces.push_back(port("eth0.7", "10.7.0.1", 24));
  host.rdma[0].gids.push_back({9, gid_text("10.7.0.1"), "RoCE v2", "eth0.7"});
  EXPECT_EQ(find_rails(host, Fabric::kRoceIpv4, "eth0").rails[0].gid_index, 3);
  EXPECT_EQ(find_rails(host, Fabric::kRoceIpv4, "eth0.7").rails[0].gid_index, 9);
  EXPECT_EQ(find_rails(host, Fabric::kRoceIpv4, "eth9").rails[0].gid_index, 3);
}

TEST(Rails, NeedAnActivePortAndAGidWithAnOwnAddress) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {roce("mlx5_0", "eth0", 1)};
  host.rdma[0].active = false;
  EXPECT_TRUE(find_rails(host, Fabric::kRoceIpv4, "eth0").rails.empty());
  host.rdma[0].active = true;
  host.rdma[0].gids[3].gid = gid_of(77);  // the GID of another pod
  const auto found = find_rails(host, Fabric::kRoceIpv4, "eth0");
  EXPECT_TRUE(found.rails.empty());
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out[0].why, "no RoCE v2 GID with an IPv4 address of the host");
}

TEST(Rails, OfInfinibandNeedNoGid) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {infiniband("mlx5_0")};
  EXPECT_EQ(find_rails(host, Fabric::kInfiniband, "eth0").rails[0].gid_index, -1);
  EXPECT_TRUE(find_rails(host, Fabric::kRoceIpv4, "eth0").rails.empty());
  EXPECT_FALSE(has_rdma(host, host.interfaces[1]));
  host.interfaces[1].kind = facts::InterfaceKind::kInfiniband;
  EXPECT_TRUE(has_rdma(host, host.interfaces[1]));
}

TEST(Rails, AreNoneOfTheSlowPorts) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {ib_port("a", "400 Gb/sec (4X NDR)"), ib_port("b", "300 Gb/sec"),
               ib_port("c", "200 Gb/sec (4X HDR)"), ib_port("d", "")};
  const auto found = find_rails(host, Fabric::kInfiniband, "eth0");
  EXPECT_EQ(names(found), (Names{"a", "b", "d"}));
  EXPECT_EQ(found.left_out[0].why, "200 Gb/sec (4X HDR)");
}

TEST(Rails, LeaveOutTheDefaultRouteOnlyIfItIsSlower) {
  facts::Facts host = good_host("n1", 1);
  add_roce(host, "mlx5_0", "gpu0", "10.0.0.1", 3, "100 Gb/sec");
  host.rdma.push_back(roce("mlx5_1", "eth0", 1));  // the interface with the default route
  host.rdma.back().rate = "100 Gb/sec";
  EXPECT_EQ(names(find_rails(host, Fabric::kRoceIpv4, "eth0")), (Names{"mlx5_0", "mlx5_1"}));
  host.rdma.back().rate = "56 Gb/sec";
  EXPECT_EQ(names(find_rails(host, Fabric::kRoceIpv4, "eth0")), Names{"mlx5_0"});
}

TEST(Rails, AreTheCardsOfWhichEachGpuHasOne) {
  facts::Facts host = good_host("n1", 1);
  host.gpus.assign(2, facts::Gpu{.model = "a GPU"});
  host.rdma = {ib_port("a", "400 Gb/sec", "gpu"), ib_port("b", "400 Gb/sec", "gpu"),
               ib_port("c", "400 Gb/sec", "storage")};
  EXPECT_EQ(names(find_rails(host, Fabric::kInfiniband, "")), (Names{"a", "b"}));
  host.rdma[1].active = false;
  EXPECT_EQ(names(find_rails(host, Fabric::kInfiniband, "")), Names{"a"});
  host.rdma[1].active = true;
  host.rdma.push_back(ib_port("d", "400 Gb/sec", "storage"));  // the two kinds cannot be told apart
  EXPECT_EQ(find_rails(host, Fabric::kInfiniband, "").rails.size(), 4U);
  host.gpus.assign(1, facts::Gpu{.model = "a GPU"});  // two cards for one port, as on a DGX Spark
  EXPECT_EQ(find_rails(host, Fabric::kInfiniband, "").rails.size(), 4U);
}

TEST(Rails, SurviveHostileRates) {
  for (const char* rate : {"", "nan", "inf", "-1", "1e999", "x"}) {
    facts::Facts host = good_host("n1", 1);
    host.rdma = {ib_port("a", rate)};
    EXPECT_EQ(find_rails(host, Fabric::kInfiniband, "").rails.size(), 1U) << rate;
  }
}

}  // namespace
}  // namespace muster::layout
