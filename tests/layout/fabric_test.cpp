// The rails chosen on real machine types, and the variables that their ranks get.
#include "layout/fabric.hpp"

#include <gtest/gtest.h>

#include "layout/machines.hpp"

namespace muster::layout {
namespace {

std::string rdma_line(const Layout& layout) {
  for (const std::string& line : layout.why) {
    if (line.starts_with("RDMA") || line.starts_with("no RDMA")) return line;
  }
  return "";
}

// Returns the decision about RDMA as text, and the variables of each host.
std::string golden(const Layout& layout) {
  std::string text = rdma_line(layout) + "\n";
  for (const Placement& placement : layout.placements) {
    text += placement.host + "\n";
    for (const auto& [name, value] : placement.variables) text += "  " + name + "=" + value + "\n";
  }
  return text;
}

std::string with_rails(const std::string& rails, std::string text) {
  const std::string word = "RAILS";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.replace(at, word.size(), rails);
  }
  return text;
}

TEST(Fabric, OfADgxH100IsItsEightCardsForGpus) {
  const std::string rails =
      "mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1";
  EXPECT_EQ(
      golden(world_of(2, make_dgx_h100).layout()),
      with_rails(
          rails,
          R"(RDMA over InfiniBand, faster than RoCE v2 over IPv4: 8 rails of 400 Gb/sec (mlx5_[0,3-6,9-11]) on n[1-2], without mlx5_2 (not InfiniBand), mlx5_[1,7] (a different model than the cards for GPUs)
n1
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
n2
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
)"));
}

TEST(Fabric, OfAnHgxWithRoceIsEightRailsWithOneGidIndex) {
  const std::string rails =
      "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1";
  EXPECT_EQ(
      golden(world_of(2, make_hgx_roce).layout()),
      with_rails(
          rails,
          R"(RDMA over RoCE v2 over IPv4: 8 rails of 400 Gb/sec (mlx5_[0-7], GID index 3) on n[1-2], without mlx5_bond_0 (200 Gb/sec)
n1
  NCCL_CROSS_NIC=0
  NCCL_IB_GID_INDEX=3
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
n2
  NCCL_CROSS_NIC=0
  NCCL_IB_GID_INDEX=3
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
)"));
}

TEST(Fabric, OfTwoDgxSparksIsBothCardsOfTheCable) {
  EXPECT_EQ(
      golden(world_of(2, make_dgx_spark).layout()),
      R"(RDMA over RoCE v2 over IPv4: 2 rails of 200 Gb/sec (roceP2p1s0f0,rocep1s0f0) on n[1-2]
n1
  NCCL_CROSS_NIC=0
  NCCL_IB_ADDR_FAMILY=AF_INET
  NCCL_IB_ROCE_VERSION_NUM=2
  UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1,eth0
n2
  NCCL_CROSS_NIC=0
  NCCL_IB_ADDR_FAMILY=AF_INET
  NCCL_IB_ROCE_VERSION_NUM=2
  UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1,eth0
)");
}

TEST(Fabric, OfAnAwsP5IsEfaAndNothingIsSaidOfInfiniband) {
  EXPECT_EQ(golden(world_of(2, make_aws_p5).layout()),
            R"(RDMA over EFA: 32 rails of 100 Gb/sec (rdmap[79-110]s0) on n[1-2]
n1
n2
)");
}

TEST(Fabric, OfMi300xHostsIsTheirBroadcomCards) {
  const std::string rails =
      "bnxt_re0:1,bnxt_re1:1,bnxt_re2:1,bnxt_re3:1,bnxt_re4:1,bnxt_re5:1,bnxt_re6:1,bnxt_re7:1";
  EXPECT_EQ(
      golden(world_of(2, make_mi300x).layout()),
      with_rails(
          rails,
          R"(RDMA over RoCE v2 over IPv4: 8 rails of 400 Gb/sec (bnxt_re[0-7], GID index 3) on n[1-2], without bnxt_re_bond0 (25 Gb/sec)
n1
  NCCL_CROSS_NIC=0
  NCCL_IB_GID_INDEX=3
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
n2
  NCCL_CROSS_NIC=0
  NCCL_IB_GID_INDEX=3
  NCCL_IB_HCA==RAILS
  UCX_NET_DEVICES=RAILS,eth0
)"));
}

TEST(Fabric, OfPodsWithMacvlanIsTheOwnGidOfEach) {
  EXPECT_EQ(
      golden(world_of(2, make_macvlan_pod).layout()),
      R"(RDMA over RoCE v2 over IPv4: 1 rail of 100 Gb/sec (mlx5_bond_0, GID index 9) on n1; 1 rail of 100 Gb/sec (mlx5_bond_0, GID index 11) on n2
n1
  NCCL_IB_GID_INDEX=9
  UCX_NET_DEVICES=mlx5_bond_0:1,eth0
n2
  NCCL_IB_GID_INDEX=11
  UCX_NET_DEVICES=mlx5_bond_0:1,eth0
)");
}

TEST(Fabric, OfHostsWithoutRdmaIsTcp) {
  const Layout layout = good_world(2).layout();
  EXPECT_EQ(golden(layout), "no RDMA on any host: traffic goes over TCP\nn1\nn2\n");
  EXPECT_FALSE(layout.rdma_given_up);
}

TEST(Fabric, IsGivenUpIfOneHostLacksIt) {
  World world = world_of(3, make_hgx_roce);
  world.host(3) = good_host("n3", 3);
  const Layout layout = world.layout();
  EXPECT_EQ(golden(layout),
            "no RDMA: 2 of 3 hosts have an active port, but not all hosts have the same kind of "
            "fabric; traffic goes over TCP\nn1\nn2\nn3\n");
  EXPECT_TRUE(layout.rdma_given_up);
  EXPECT_EQ(layout.fabric, Fabric::kNone);
}

TEST(Fabric, ThatOnlySomeHostsHaveAsEfaIsKeptFromNccl) {
  World world = world_of(2, make_aws_p5);
  world.host(2).rdma.clear();
  EXPECT_EQ(world.layout().placements[0].variables.at("NCCL_NET"), "Socket");
  EXPECT_EQ(world.layout().placements[1].variables.at("NCCL_NET"), "Socket");
}

TEST(Fabric, OfHostsWithEightAndFourRailsIsAllOfThem) {
  World world = world_of(2, make_hgx_roce);
  auto& rdma = world.host(2).rdma;
  rdma.erase(rdma.begin() + 4, rdma.begin() + 8);
  const Layout layout = world.layout();
  EXPECT_EQ(layout.placements[0].rails.size(), 8U);
  EXPECT_EQ(layout.placements[1].rails.size(), 4U);
  EXPECT_FALSE(layout.placements[0].variables.contains("NCCL_CROSS_NIC"));
}

TEST(Fabric, IsTheOneOfWhichTheSlowestHostHasMost) {
  World world = world_of(2, make_hgx_roce);
  for (int number : {1, 2})
    world.host(number).rdma.push_back(ib_port("ib0", "100 Gb/sec (4X EDR)"));
  EXPECT_EQ(world.layout().fabric, Fabric::kRoceIpv4);
  EXPECT_TRUE(rdma_line(world.layout())
                  .starts_with("RDMA over RoCE v2 over IPv4, faster than InfiniBand: "));
}

TEST(Fabric, OfAzureIsInfinibandWithoutTheCardForEthernet) {
  const Layout layout =
      world_of(2, [](facts::Facts& host, int) {
        for (int rail = 0; rail < 8; ++rail) {
          host.rdma.push_back(ib_port(fmt::format("mlx5_ib{}", rail), "400 Gb/sec (4X NDR)"));
        }
        host.rdma.push_back({.device = "mlx5_an0",
                             .port = 1,
                             .active = true,
                             .link_layer = "Ethernet",
                             .rate = "100 Gb/sec (4X EDR)"});
      }).layout();
  EXPECT_EQ(layout.placements[0].rails.size(), 8U);
  EXPECT_EQ(layout.placements[0].variables.at("NCCL_IB_HCA").find("mlx5_an0"), std::string::npos);
}

TEST(Fabric, OfIpv6AloneIsRoceOverIpv6) {
  const auto make = [](facts::Facts& host, int number) {
    add_roce(host, "mlx5_0", "gpu0", fmt::format("fd00:1::{}", number), 3, "100 Gb/sec", 64);
    add_roce(host, "mlx5_1", "gpu1", fmt::format("fd00:2::{}", number), 5, "100 Gb/sec", 64);
  };
  World world = world_of(2, make);
  EXPECT_EQ(world.layout().fabric, Fabric::kRoceIpv6);
  EXPECT_EQ(world.layout().placements[0].variables.at("NCCL_IB_ADDR_FAMILY"), "AF_INET6");
  world.host(2).rdma = {roce("mlx5_0", "eth0", 2)};  // IPv4 and IPv6 GIDs cannot talk to each other
  EXPECT_TRUE(world.layout().rdma_given_up);
}

TEST(Fabric, IsChosenByAPodAlone) {
  World world = world_of(1, make_macvlan_pod);
  EXPECT_TRUE(world.layout().placements[0].rails.empty());  // a single host needs no network
  world.job.pods = 4;
  EXPECT_EQ(world.layout().placements[0].rails.size(), 1U);
}

TEST(Fabric, HasSeparateRailsOnlyWithoutAGateway) {
  World world = world_of(2, make_dgx_spark);
  const auto is_told = [&] {
    return world.layout().placements[1].variables.contains("NCCL_CROSS_NIC");
  };
  EXPECT_TRUE(is_told());
  for (int number : {1, 2}) {
    for (const char* name : {"enp1s0f0np0", "enP2p1s0f0np0"}) {
      world.host(number).routes.push_back({"192.168.0.0/16", name, "192.168.100.254"});
    }
  }
  EXPECT_FALSE(is_told());
  World same = world_of(2, make_dgx_spark);  // a cable connects the first rail to the second
  auto& interfaces = same.host(2).interfaces;
  std::swap(interfaces[2].addresses, interfaces[3].addresses);
  auto& rdma = same.host(2).rdma;
  std::swap(rdma[0].gids, rdma[1].gids);
  EXPECT_FALSE(same.layout().placements[1].variables.contains("NCCL_CROSS_NIC"));
}

}  // namespace
}  // namespace muster::layout
