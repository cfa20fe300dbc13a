#include "layout/rail_variables.hpp"

#include <gtest/gtest.h>

#include "layout/machines.hpp"
#include "layout/rails.hpp"

namespace muster::layout {
namespace {

std::map<std::string, std::string> told(const facts::Facts& host, Fabric fabric,
                                        bool separate = false) {
  Placement placement{.host = "n1", .interface = "eth0"};
  placement.rails = find_rails(host, fabric, "eth0").rails;
  return rail_variables(host, placement, fabric, separate);
}

TEST(RailVariables, SayNothingToNcclThatItFindsOutItself) {
  facts::Facts host = good_host("n1", 1);
  host.rdma = {ib_port("mlx5_0", "400 Gb/sec"), ib_port("mlx5_1", "400 Gb/sec")};
  using Told = std::map<std::string, std::string>;
  EXPECT_EQ(told(host, Fabric::kInfiniband), (Told{{"UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1,eth0"}}));
  host.rdma.push_back(ib_port("mlx5_2", "100 Gb/sec"));
  EXPECT_EQ(told(host, Fabric::kInfiniband).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
  host.rdma.back().active = false;  // NCCL does not use an inactive device
  EXPECT_FALSE(told(host, Fabric::kInfiniband).contains("NCCL_IB_HCA"));
}

TEST(RailVariables, NameTheOneInterfaceToLibfabricIfItMustChoose) {
  facts::Facts host = good_host("n1", 1);
  add_roce(host, "mlx5_0", "gpu0", "10.0.0.1", 3, "400 Gb/sec");
  EXPECT_FALSE(told(host, Fabric::kRoceIpv4).contains("FI_VERBS_IFACE"));
  add_roce(host, "mlx5_1", "mgmt0", "10.1.0.1", 3, "100 Gb/sec");
  EXPECT_EQ(told(host, Fabric::kRoceIpv4).at("FI_VERBS_IFACE"), "gpu0");
}

TEST(RailVariables, GiveTheRangeIfNcclWouldTakeAnotherGid) {
  facts::Facts host = good_host("n1", 1);
  add_roce(host, "mlx5_0", "gpu0", "10.40.0.5", 5, "400 Gb/sec");
  add_roce(host, "mlx5_1", "gpu1", "10.40.1.5", 7, "400 Gb/sec");
  EXPECT_FALSE(told(host, Fabric::kRoceIpv4).contains("NCCL_IB_ADDR_RANGE"));
  auto& gids = host.rdma[0].gids;
  gids.insert(gids.begin() + 2, {3, gid_text("172.16.0.9"), "RoCE v2", ""});  // not this host's
  const auto variables = told(host, Fabric::kRoceIpv4);
  EXPECT_EQ(variables.at("NCCL_IB_ADDR_RANGE"), "10.40.0.0/23");
  EXPECT_EQ(variables.at("NCCL_IB_ADDR_FAMILY"), "AF_INET");
  EXPECT_FALSE(variables.contains("NCCL_IB_GID_INDEX"));
  gids[2].gid = gid_text("10.40.1.9");  // then no range contains both rails without this GID
  EXPECT_FALSE(told(host, Fabric::kRoceIpv4).contains("NCCL_IB_ADDR_RANGE"));
}

TEST(RailVariables, GiveNoRangeThatNcclDoesNotLookAt) {
  facts::Facts host = good_host("n1", 1);
  add_roce(host, "mlx5_0", "gpu0", "10.40.0.5", 5, "400 Gb/sec");
  add_roce(host, "mlx5_1", "gpu1", "10.40.1.5", 7, "400 Gb/sec");
  host.rdma[0].gids[0] = {0, gid_text("172.16.0.9"), "RoCE v2", ""};  // not this host's
  EXPECT_EQ(index_that_nccl_takes(host.rdma[0], true, parse_network("10.40.0.0/23")), 0);
  EXPECT_FALSE(told(host, Fabric::kRoceIpv4).contains("NCCL_IB_ADDR_RANGE"));
}

TEST(RailVariables, TellNcclTheFamilyThatIsNotItsDefault) {
  facts::Facts host = good_host("n1", 1);
  add_roce(host, "mlx5_0", "gpu0", "fd00:1::1", 3, "400 Gb/sec", 64);
  EXPECT_EQ(told(host, Fabric::kRoceIpv6).at("NCCL_IB_ADDR_FAMILY"), "AF_INET6");
  EXPECT_EQ(told(host, Fabric::kRoceIpv6).at("NCCL_IB_GID_INDEX"), "3");
}

TEST(RailVariables, AreNoneWithEfa) {
  facts::Facts host = good_host("n1", 1);
  make_aws_p5(host, 1);
  EXPECT_TRUE(told(host, Fabric::kEfa, true).empty());
}

TEST(RailVariables, AreNoneWithoutRails) {
  EXPECT_TRUE(told(good_host("n1", 1), Fabric::kRoceIpv4, true).empty());
}

}  // namespace
}  // namespace muster::layout
