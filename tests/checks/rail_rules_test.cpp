#include <gtest/gtest.h>

#include "checks/rules.hpp"
#include "judged.hpp"
#include "layout/machines.hpp"

namespace muster::checks {
namespace {

using layout::world_of;

// Returns the findings about RDMA only. These machines also have interfaces that other rules
// report.
std::string about_rails(const World& world) {
  std::string text;
  for (const Finding& finding : judged(world)) {
    if (finding.id != kRailLost && finding.id != kRailSlow && finding.id != kRoceGid &&
        finding.id != kRdmaMissing && finding.id != kMtu) {
      continue;
    }
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : "\n", hosts::fold(finding.hosts),
                        finding.id, finding.what);
  }
  return text;
}

TEST(Rails, OfHealthyMachinesAreNotFaulted) {
  EXPECT_EQ(about_rails(world_of(4, layout::make_dgx_h100)), "");
  EXPECT_EQ(about_rails(world_of(4, layout::make_hgx_roce)), "");
  EXPECT_EQ(about_rails(world_of(2, layout::make_dgx_spark)), "");
  EXPECT_EQ(about_rails(world_of(4, layout::make_aws_p5)), "");
  EXPECT_EQ(about_rails(world_of(4, layout::make_mi300x)), "");
  EXPECT_EQ(about_rails(world_of(4, layout::make_macvlan_pod)), "");
  EXPECT_EQ(about_rails(good_world(4)), "");
}

TEST(Rails, OfDifferentMachinesMayDiffer) {
  World world = world_of(4, layout::make_hgx_roce);
  for (int number : {3, 4}) {  // machines with four GPUs and four slower cards
    facts::Facts& host = world.host(number);
    host.gpus.resize(4);
    host.rdma.erase(host.rdma.begin() + 4, host.rdma.begin() + 8);
    for (int rail = 0; rail < 4; ++rail) host.rdma[rail].rate = "200 Gb/sec (4X HDR)";
    host.rdma.back().rate = "25 Gb/sec (1X EDR)";
  }
  EXPECT_EQ(about_rails(world), "");
}

TEST(Rails, OfACableInTheOtherPortAreNotLost) {
  World world = world_of(2, layout::make_dgx_spark);
  auto& rdma = world.host(2).rdma;
  std::swap(rdma[0].device, rdma[2].device);
  std::swap(rdma[1].device, rdma[3].device);
  EXPECT_EQ(about_rails(world), "");
}

TEST(Rails, ThatAreDownOrMissingAreNamed) {
  World world = world_of(4, layout::make_hgx_roce);
  world.host(3).rdma[5].active = false;
  world.host(3).rdma[5].physical_state = "Polling";
  EXPECT_EQ(about_rails(world), "n3 rdma-rail-lost: mlx5_5 is not active (Polling)");
  world.host(3).rdma.erase(world.host(3).rdma.begin() + 5);
  EXPECT_EQ(about_rails(world), "n3 rdma-rail-lost: mlx5_5 is missing");
  World no_manager = world_of(4, layout::make_dgx_h100);
  no_manager.host(3).rdma[5].active = false;  // in state INIT
  EXPECT_EQ(
      about_rails(no_manager),
      "n3 rdma-rail-lost: mlx5_9 has a link, but is not active; is a subnet manager running?");
}

TEST(Rails, ThatAreFewerForNoSeenReasonAreCounted) {
  World world = world_of(2, layout::make_dgx_spark);
  auto& rdma = world.host(2).rdma;
  rdma.erase(rdma.begin() + 1, rdma.end());
  rdma[0].device = "mlx5_0";  // numbered differently, so names say nothing
  world.host(1).rdma.push_back(world.host(1).rdma[1]);
  EXPECT_TRUE(has(about_rails(world), "n2 rdma-rail-lost: "));
}

TEST(Rails, ThatAreSlowerAreNamedWhetherUsedOrNot) {
  World world = world_of(4, layout::make_dgx_h100);
  // The port has half of the others' rate, so it is no longer used.
  world.host(2).rdma[4].rate = "200 Gb/sec (2X NDR)";
  EXPECT_EQ(about_rails(world), "n2 rdma-rail-slow: mlx5_6 has 200 Gb/sec (2X NDR)");
  for (int rail = 0; rail < 8; ++rail) world.host(2).rdma[rail].rate = "300 Gb/sec";
  EXPECT_TRUE(has(about_rails(world), "n2 rdma-rail-slow: mlx5_0 has 300 Gb/sec; mlx5_3 has "));
}

TEST(Rails, OfRoceNeedAGid) {
  World world = world_of(4, layout::make_hgx_roce);
  world.host(4).rdma[2].gids.pop_back();
  EXPECT_EQ(about_rails(world),
            "n4 roce-wrong-gid: mlx5_2 has no RoCE v2 GID for an address of the host, so NCCL "
            "cannot use it");
}

TEST(Rails, NeedTheSameMtuInASubnet) {
  World world = world_of(4, layout::make_hgx_roce);
  world.host(1).interfaces[4].mtu = 1500;  // gpu2
  EXPECT_EQ(about_rails(world),
            "n1 mtu-mismatch: gpu2 of the rail mlx5_2 has MTU 1500, but most hosts in "
            "10.10.2.0/24 have 9000");
}

TEST(RailVariables, ThatTheUserSetAreComparedWithEachHost) {
  World world = world_of(2, layout::make_hgx_roce);
  const auto finds = [&](const std::string& name, const std::string& value) {
    world.job.env_values = {{name, value}};
    return about_rails(world);
  };
  const std::string set = "n[1-2] ib-device-not-found-silent-tcp: NCCL_IB_HCA=";
  const std::string passed = " is passed to all ranks, but ";
  EXPECT_EQ(finds("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"), "");
  EXPECT_EQ(finds("NCCL_IB_HCA", "^mlx5_bond"), "");
  EXPECT_EQ(finds("NCCL_IB_HCA", "mlx5_0,mlx5_1"), "");
  EXPECT_EQ(finds("NCCL_IB_HCA", "mlx5"),
            set + "mlx5" + passed + "it selects mlx5_bond_0, which does not belong to the rails");
  EXPECT_EQ(finds("NCCL_IB_HCA", "=mlx5"), set + "=mlx5" + passed + "it selects no active port");
  EXPECT_EQ(finds("NCCL_IB_HCA", "=mlx5_0,mlx5_9"),
            set + "=mlx5_0,mlx5_9" + passed + "the host has no port mlx5_9");
  EXPECT_EQ(finds("NCCL_IB_HCA", ""), "");
  EXPECT_EQ(finds("NCCL_IB_GID_INDEX", "3"), "");
  EXPECT_EQ(finds("NCCL_IB_GID_INDEX", "-1"), "");
  EXPECT_EQ(finds("NCCL_IB_GID_INDEX", "5"), "n[1-2] roce-wrong-gid: NCCL_IB_GID_INDEX=5" + passed +
                                                 "mlx5_0 has no GID of that index");
  EXPECT_EQ(finds("NCCL_IB_GID_INDEX", "1"),
            "n[1-2] roce-wrong-gid: NCCL_IB_GID_INDEX=1" + passed +
                "this GID of mlx5_0 is fe80:0000:0000:0000:0000:0000:0000:0001 (RoCE v2), and not "
                "a RoCE v2 GID for a routable address of the host");
}

TEST(RailVariables, DoNotMatterWhereNothingReadsThem) {
  World world = world_of(2, layout::make_aws_p5);
  world.job.env_values = {{"NCCL_IB_HCA", "mlx5_9"}, {"NCCL_IB_GID_INDEX", "5"}};
  EXPECT_EQ(about_rails(world), "");
  World tcp = good_world(2);
  tcp.job.env_values = world.job.env_values;
  EXPECT_EQ(about_rails(tcp), "");
}

TEST(Rdma, OfOneKindIsNotFaultedIfAHostDoesNotAnswer) {
  World world = world_of(4, layout::make_dgx_h100);  // such hosts have both InfiniBand and RoCE
  world.lose(2, "ssh-connect-refused-or-timeout", {.what = "it does not answer"});
  EXPECT_EQ(about_rails(world), "");
}

TEST(Rdma, OfDifferentKindsIsNamed) {
  World world = world_of(2, layout::make_dgx_h100);
  std::erase_if(world.host(1).rdma,
                [](const facts::RdmaPort& port) { return port.link_layer == "Ethernet"; });
  std::erase_if(world.host(2).rdma,
                [](const facts::RdmaPort& port) { return port.link_layer != "Ethernet"; });
  EXPECT_TRUE(has(about_rails(world), "the hosts have different kinds of RDMA fabric"));
}

TEST(Rdma, PortsThatNoHostCanUseAreOnlyNoted) {
  World world = good_world(2);
  for (int number : {1, 2}) {
    world.host(number).rdma = {layout::roce("mlx5_0", "eth0", number)};
    world.host(number).rdma[0].gids.clear();
  }
  EXPECT_EQ(brief(world), "note n[1-2] roce-wrong-gid");
}

}  // namespace
}  // namespace muster::checks
