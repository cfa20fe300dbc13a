#include "layout/subnet.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "layout/machines.hpp"
#include "layout/world.hpp"

namespace muster::layout {
namespace {

// Gives every host except the launcher a second port, in 10.0.0.0/24.
World two_networks(int hosts, int speed) {
  World world = good_world(hosts);
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).interfaces.push_back(
        port("eth1", fmt::format("10.0.0.{}", number), 24, speed));
  }
  return world;
}

bool mentions(const Layout& layout, std::string_view part) {
  return std::any_of(layout.why.begin(), layout.why.end(),
                     [&](const std::string& why) { return why.find(part) != std::string::npos; });
}

TEST(Subnet, IsTheOneThatAllHostsShareWhateverTheNames) {
  World world = good_world(3);
  world.host(2).interfaces[1].name = "ens5";
  world.host(3).interfaces.push_back(port("eth1", "10.0.0.1", 24, 100000));
  const Layout layout = world.layout();
  EXPECT_EQ(layout.subnet, "198.18.0.0/16");
  EXPECT_EQ(layout.placements[1].interface, "ens5");
  EXPECT_EQ(layout.placements[1].address, "198.18.0.2");
  EXPECT_TRUE(mentions(layout, "the only network that all 3 hosts share"));
}

TEST(Subnet, IsNeverVirtualTunnelLinkLocalOrDown) {
  for (const auto kind : {facts::InterfaceKind::kVirtual, facts::InterfaceKind::kTunnel,
                          facts::InterfaceKind::kLoopback}) {
    World world = two_networks(2, 100000);
    for (int number : {1, 2}) world.host(number).interfaces[2].kind = kind;
    EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  }
  World down = two_networks(2, 100000);
  down.host(2).interfaces[2].up = false;
  EXPECT_EQ(down.layout().subnet, "198.18.0.0/16");
  World local = two_networks(2, 100000);
  for (int number : {1, 2}) {
    local.host(number).interfaces[2].addresses = {{fmt::format("169.254.0.{}", number), 16}};
  }
  EXPECT_EQ(local.layout().subnet, "198.18.0.0/16");
}

TEST(Subnet, NeedsDistinctAddresses) {
  World world = two_networks(2, 100000);
  world.host(2).interfaces[2].addresses = {{"10.0.0.1", 24}};
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  world.host(2).interfaces[2].addresses = {{"10.0.0.1", 24}, {"10.0.0.2", 24}};
  // n2 has 10.0.0.1 too, and n1 has no other address in 10.0.0.0/24.
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  world.host(1).interfaces[2].addresses.push_back({"10.0.0.7", 24});
  EXPECT_EQ(world.layout().subnet, "10.0.0.0/24");
  EXPECT_EQ(world.layout().master_address, "10.0.0.7");
}

TEST(Subnet, PrefersRdmaThenSpeedThenTheDefaultRouteThenTheLauncherThenTheLowest) {
  World fast = two_networks(2, 25000);
  EXPECT_EQ(fast.layout().subnet, "10.0.0.0/24");
  EXPECT_TRUE(
      mentions(fast.layout(), "25000 Mbit/s on the slowest host, compared with 10000 Mbit/s"));
  for (int number : {1, 2}) fast.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  EXPECT_EQ(fast.layout().subnet, "198.18.0.0/16");
  EXPECT_TRUE(mentions(fast.layout(), "all hosts have RDMA on it"));
  fast.host(2).rdma.clear();
  EXPECT_EQ(fast.layout().subnet, "10.0.0.0/24");

  World equal = two_networks(2, 10000);
  EXPECT_TRUE(mentions(equal.layout(), "more hosts have their default route on it"));
  EXPECT_EQ(equal.layout().subnet, "198.18.0.0/16");
  for (int number : {1, 2}) equal.host(number).routes.clear();
  EXPECT_TRUE(mentions(equal.layout(), "this machine is in it"));
  EXPECT_EQ(equal.layout().subnet, "198.18.0.0/16");
  equal.launcher.interfaces.clear();
  EXPECT_EQ(equal.layout().subnet, "10.0.0.0/24");

  World untold = two_networks(2, -1);
  EXPECT_TRUE(mentions(untold.layout(), "compared with an unknown speed"));
}

// The storage ports of a DGX are faster than the network of the default route, and have RDMA.
TEST(Subnet, IsTheOneByWhichHostsAreReachedIfGpusUseRdma) {
  World world = world_of(2, make_dgx_h100);
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  EXPECT_TRUE(mentions(world.layout(),
                       "subnet 198.18.0.0/16 instead of 10.9.0.0/24: more hosts have their default "
                       "route on it, and the GPUs' traffic takes RDMA"));
  for (int number : {1, 2}) world.host(number).routes.clear();
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  EXPECT_TRUE(mentions(world.layout(), "this machine is in it, and the GPUs' traffic takes RDMA"));
  world.job.master_address = "10.9.0.1";
  EXPECT_EQ(world.layout().subnet, "10.9.0.0/24");
}

TEST(Subnet, IsTheFastestIfTheDataTakeTcp) {
  World cpus = world_of(2, make_dgx_h100);
  cpus.job.ranks_by = "cpu";
  EXPECT_EQ(cpus.layout().subnet, "10.9.0.0/24");
  World unused = world_of(2, make_dgx_h100);
  for (facts::Gpu& gpu : unused.host(2).gpus) gpu.problem = "the NVIDIA driver is not loaded";
  EXPECT_EQ(unused.layout().subnet, "10.9.0.0/24");
  World no_fabric = world_of(2, make_dgx_h100);
  for (facts::RdmaPort& port : no_fabric.host(2).rdma) port.active = false;
  EXPECT_EQ(no_fabric.layout().subnet, "10.9.0.0/24");
}

TEST(Subnet, HoldsTheMasterAddressThatWasAskedFor) {
  World world = two_networks(2, 100);
  world.job.master_address = "10.0.0.1";
  EXPECT_EQ(world.layout().subnet, "10.0.0.0/24");
  EXPECT_EQ(world.layout().master_address, "10.0.0.1");
}

TEST(Subnet, CoversTheAddressesOfACloudThatGivesEachHostA32) {
  World world = good_world(3);
  for (int number : {1, 2, 3}) world.host(number).interfaces[1].addresses[0].prefix = 32;
  const Layout layout = world.layout();
  EXPECT_EQ(layout.subnet, "198.18.0.0/30");
  EXPECT_EQ(layout.placements[2].address, "198.18.0.3");
  EXPECT_TRUE(mentions(layout, "the hosts share no network"));
}

TEST(Subnet, CoversNothingThatIsTooWideMixedOrAmbiguous) {
  World wide = good_world(2);
  wide.host(2).interfaces[1].addresses = {{"10.0.0.2", 16}};
  EXPECT_EQ(wide.layout().subnet, "");
  World mixed = good_world(2);
  mixed.host(2).interfaces[1].addresses = {{"198.51.100.2", 16}};
  EXPECT_EQ(mixed.layout().subnet, "");
  World docker = good_world(2);
  docker.host(1).interfaces[1].addresses = {{"172.16.0.1", 32}};
  docker.host(2).interfaces[1].addresses = {{"172.31.0.1", 32}};
  EXPECT_EQ(docker.layout().subnet, "172.16.0.0/12");
  docker.host(2).interfaces.push_back(virtual_bridge("docker0", "172.17.0.1"));
  EXPECT_EQ(docker.layout().subnet, "");
  World no_route = good_world(2);
  no_route.host(1).interfaces[1].addresses[0].prefix = 32;
  no_route.host(2).routes.clear();
  EXPECT_EQ(no_route.layout().subnet, "");
}

TEST(Subnet, OfTheLauncherIsSaidOnlyWhenItIsAnother) {
  World world = two_networks(2, 25000);
  EXPECT_EQ(world.layout().subnet, "10.0.0.0/24");
  EXPECT_EQ(world.layout().launcher_subnet, "198.18.0.0/16");
  EXPECT_EQ(world.layout().launcher_address, world.launcher.interfaces[1].addresses[0].ip);
  world.launcher.interfaces[1].addresses = {{"192.168.7.7", 24}};
  EXPECT_EQ(world.layout().launcher_subnet, "192.168.7.0/24");
  EXPECT_EQ(world.layout().launcher_address, "192.168.7.7");
  EXPECT_EQ(good_world(2).layout().launcher_subnet, "");
  EXPECT_EQ(good_world(2).layout().launcher_interface, "eth0");
}

TEST(SubnetIpv6, IsTakenWhereHostsHaveNothingElse) {
  const Layout layout = ipv6_world(3, true).layout();
  EXPECT_EQ(layout.subnet, "fd00::/64");
  EXPECT_EQ(layout.placements[1].address, "fd00::2");
  EXPECT_EQ(layout.placements[1].interface, "eth0");
  EXPECT_EQ(layout.master_address, "fd00::1");
  EXPECT_EQ(layout.launcher_address, "fd00::250");
  EXPECT_TRUE(mentions(layout, "fd00::/64: the only network that all 3 hosts share"));
}

TEST(SubnetIpv6, GivesWayToIpv4OnTheSameInterfaces) {
  World world = ipv6_world(3, false);
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  EXPECT_TRUE(
      mentions(world.layout(), "198.18.0.0/16: the only IPv4 network that all 3 hosts share"));
  EXPECT_EQ(world.layout().launcher_subnet, "");
  world.launcher.interfaces[1].addresses.erase(world.launcher.interfaces[1].addresses.begin());
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  EXPECT_EQ(world.layout().launcher_subnet, "fd00::/64");
  EXPECT_EQ(world.layout().launcher_address, "fd00::250");
}

TEST(SubnetIpv6, IsTakenFromAFasterInterfaceOrForTheMastersAddress) {
  World world = ipv6_world(2, false);
  world.job.master_address = "fd00::1";
  EXPECT_EQ(world.layout().subnet, "fd00::/64");
  World fast = good_world(2);
  for (int number : {1, 2}) {
    fast.host(number).interfaces.push_back(
        port("eth1", fmt::format("fd01::{}", number), 64, 100000));
  }
  EXPECT_EQ(fast.layout().subnet, "fd01::/64");
  EXPECT_TRUE(mentions(fast.layout(), "fd01::/64 instead of 198.18.0.0/16: 100000 Mbit/s"));
}

TEST(SubnetIpv6, IsTakenWhereOnlyItIsShared) {
  World world = ipv6_world(2, false);
  world.host(2).interfaces[1].addresses[0] = {"192.168.7.2", 24};
  EXPECT_EQ(world.layout().subnet, "fd00::/64");
  world.host(2).interfaces[1].addresses.erase(world.host(2).interfaces[1].addresses.begin());
  EXPECT_EQ(world.layout().subnet, "fd00::/64");
  EXPECT_EQ(world.layout().placements[1].address, "fd00::2");
}

TEST(SubnetIpv6, IsNeverLinkLocalAndSharedByHostsWithDistinctAddresses) {
  World world = ipv6_world(2, true);
  for (int number : {1, 2})
    world.host(number).interfaces[1].addresses.erase(
        world.host(number).interfaces[1].addresses.begin());
  EXPECT_EQ(world.layout().subnet, "");
  World same = ipv6_world(2, true);
  same.host(2).interfaces[1].addresses[0] = {"fd00::1", 64};
  EXPECT_EQ(same.layout().subnet, "");
}

TEST(SubnetIpv6, PrefersAddressesThatLast) {
  World world = ipv6_world(2, true);
  for (int number : {1, 2}) {
    auto& addresses = world.host(number).interfaces[1].addresses;
    addresses.insert(addresses.begin(), {fmt::format("fd00::aaaa:{}", number), 64, "temporary"});
    addresses.insert(addresses.begin(), {fmt::format("2001:db8::{}", number), 64, "deprecated"});
  }
  EXPECT_EQ(world.layout().subnet, "fd00::/64");
  EXPECT_TRUE(mentions(world.layout(), "the other has temporary or deprecated addresses"));
  EXPECT_EQ(world.layout().master_address, "fd00::1");
  world.host(1).interfaces[1].addresses = {{"fd00::1", 64, "duplicate"},
                                           {"fd00::7", 64, "temporary"}};
  EXPECT_EQ(world.layout().master_address, "fd00::7");
}

TEST(SubnetIpv6, CoversTheAddressesOfACloudThatGivesEachHostA128) {
  World world = ipv6_world(3, true);
  for (int number : {1, 2, 3}) {
    world.host(number).interfaces[1].addresses = {{fmt::format("2600:1f18:1:2::{}", number), 128},
                                                  {fmt::format("fe80::{}", number), 64}};
  }
  EXPECT_EQ(world.layout().subnet, "2600:1f18:1:2::/126");
  world.host(3).interfaces[1].addresses[0] = {"2a05:d018::3", 128};
  EXPECT_EQ(world.layout().subnet, "");
  // If the hosts' IPv4 addresses are such single ones too, IPv4 takes precedence.
  for (int number : {1, 2, 3}) {
    world.host(number).interfaces[1].addresses.push_back({fmt::format("10.0.0.{}", number), 32});
    world.host(number).routes.push_back({"0.0.0.0/0", "eth0", "10.0.0.254"});
  }
  EXPECT_EQ(world.layout().subnet, "10.0.0.0/30");
}

}  // namespace
}  // namespace muster::layout
