#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "layout/gpu_world.hpp"
#include "layout/master_port.hpp"
#include "layout/world.hpp"

namespace muster::layout {
namespace {

TEST(Decide, LaysOutAGoodCluster) {
  World world = good_world(3);
  world.job.ranks_per_host = 2;
  const Layout layout = world.layout();
  EXPECT_EQ(layout.ranks, 6);
  EXPECT_EQ(layout.master_address, "198.18.0.1");
  EXPECT_EQ(layout.master_port, 29500);
  EXPECT_EQ(layout.threads, 4);
  EXPECT_EQ(layout.bind_to, "none");
  EXPECT_FALSE(layout.oversubscribed);
  EXPECT_EQ(layout.engine.kind, "openmpi");
  EXPECT_TRUE(layout.placements[0].rails.empty());
}

TEST(Decide, GivesHostsWithoutFactsTheirRanksAndNoAddress) {
  World world = good_world(3);
  world.lose(1, "ssh-connect-refused-or-timeout", {.what = "down"});
  const Layout layout = world.layout();
  EXPECT_EQ(layout.ranks, 3);
  EXPECT_EQ(layout.placements[0].address, "");
  EXPECT_EQ(layout.placements[1].address, "198.18.0.2");
  EXPECT_EQ(layout.master_address, "");
  EXPECT_EQ(layout.subnet, "198.18.0.0/16");
  for (int number : {2, 3}) world.lose(number, "", {.what = "down"});
  EXPECT_EQ(world.layout().subnet, "");
}

TEST(Decide, AsksOnlyTheHostsThatTakePart) {
  World world = good_world(3);
  world.host(3).interfaces.clear();
  world.host(3).cpu.usable = 1;
  world.job.nodes = 2;
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  EXPECT_EQ(world.layout().threads, 8);
}

TEST(Decide, UsesLoopbackOnlyForASingleHostWithoutANetwork) {
  World world = good_world(1);
  EXPECT_EQ(world.layout().master_address, "198.18.0.1");
  world.host(1).interfaces.resize(1);
  EXPECT_EQ(world.layout().master_address, "127.0.0.1");
  EXPECT_EQ(world.layout().subnet, "");
}

TEST(Decide, StaysOnLoopbackWhereThisMachineIsTheOnlyHost) {
  World world = good_world(1);
  world.cluster.hosts[0].here = true;
  world.job.ranks = 2;
  Layout layout = world.layout();
  EXPECT_EQ(layout.ranks, 2);
  EXPECT_EQ(layout.subnet, "127.0.0.0/8");
  EXPECT_EQ(layout.master_address, "127.0.0.1");
  EXPECT_EQ(layout.placements[0].interface, "lo");
  EXPECT_EQ(layout.launcher_interface, "lo");
  EXPECT_EQ(layout.launcher_address, "127.0.0.1");
  world.host(1).interfaces[0].up = false;
  EXPECT_EQ(world.layout().subnet, "198.18.0.0/16");
  world.host(1).interfaces.clear();
  EXPECT_EQ(world.layout().subnet, "");
}

TEST(Decide, LeadsOutOfThisMachineWhereItIsOneOfSeveralHosts) {
  World world = good_world(2);
  world.cluster.hosts[0].here = true;
  const Layout layout = world.layout();
  EXPECT_EQ(layout.subnet, "198.18.0.0/16");
  EXPECT_EQ(layout.master_address, "198.18.0.1");
  EXPECT_TRUE(layout.placements[0].here);
  EXPECT_FALSE(layout.placements[1].here);
}

bool says(const World& world, std::string_view line) {
  const std::vector<std::string> why = world.layout().why;
  return std::find(why.begin(), why.end(), line) != why.end();
}

TEST(Decide, UsesRdmaOnAllHostsOrNone) {
  World world = good_world(2);
  for (int number : {1, 2}) world.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  EXPECT_EQ(world.layout().placements[1].rails.at(0).gid_index, 3);
  EXPECT_TRUE(says(world,
                   "RDMA over RoCE v2 over IPv4: 1 rail of 100 Gb/sec (mlx5_0, GID index 3) on "
                   "n[1-2]"));
  world.host(2).rdma[0].device = "mlx5_7";
  EXPECT_TRUE(says(world,
                   "RDMA over RoCE v2 over IPv4: 1 rail of 100 Gb/sec (mlx5_0, GID index 3) on n1; "
                   "1 rail of 100 Gb/sec (mlx5_7, GID index 3) on n2"));
  world.host(2).rdma = {infiniband("mlx5_0")};
  EXPECT_TRUE(world.layout().placements[0].rails.empty());
  world.host(2).rdma.clear();
  EXPECT_TRUE(world.layout().placements[0].rails.empty());
  world.host(1).rdma.clear();
  EXPECT_TRUE(says(world, "no RDMA on any host: traffic goes over TCP"));
}

TEST(Decide, UsesAllActivePortsOfAHost) {
  World world = good_world(2);
  for (int number : {1, 2}) {
    world.host(number).rdma = {infiniband("mlx5_0"), infiniband("mlx5_1"), infiniband("mlx5_2")};
  }
  world.host(2).rdma[2].active = false;
  EXPECT_TRUE(
      says(world, "RDMA over InfiniBand: 3 rails (mlx5_[0-2]) on n1; 2 rails (mlx5_[0-1]) on n2"));
  EXPECT_FALSE(world.layout().placements[1].variables.contains("NCCL_IB_HCA"));
}

TEST(Decide, GivesUpRdmaOnlyWhereThereIsSome) {
  World world = good_world(2);
  EXPECT_FALSE(world.layout().rdma_given_up);
  world.host(1).rdma = {roce("mlx5_0", "eth0", 1)};
  EXPECT_TRUE(world.layout().rdma_given_up);
  world.host(1).rdma[0].gids.clear();  // NCCL might still use the device
  EXPECT_TRUE(world.layout().rdma_given_up);
  world.host(1).rdma[0].active = false;
  EXPECT_FALSE(world.layout().rdma_given_up);
  for (int number : {1, 2}) world.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  EXPECT_FALSE(world.layout().rdma_given_up);
}

TEST(Decide, MakesNothingUpForAHostThatIsNotKnown) {
  World world = good_world(1);
  world.lose(1, "ssh-connect-refused-or-timeout", {.what = "down"});
  EXPECT_EQ(world.layout().master_address, "");
  EXPECT_TRUE(says(world, "master port 29500: the default, because n1 did not answer"));
}

TEST(Decide, DividesTheCpusOfTheFullestHost) {
  World world = good_world(2);
  world.cluster.hosts[1].slots = 16;
  EXPECT_EQ(world.layout().threads, 1);
  EXPECT_TRUE(world.layout().oversubscribed);
  world.job.threads = 3;
  world.job.bind_to = "core";
  EXPECT_EQ(world.layout().threads, 3);
  EXPECT_EQ(world.layout().bind_to, "core");
}

TEST(Decide, RefusesNumbersThatMakeNoSense) {
  World world = good_world(1);
  world.job.master_port = 70000;
  EXPECT_EQ(world.decided().error().code, ErrorCode::kUsage);
  world.job.master_port = 0;
  world.job.threads = -1;
  EXPECT_EQ(world.decided().error().code, ErrorCode::kUsage);
}

TEST(MasterPort, IsTheFirstFreeOneFromTheUsualUp) {
  World world = good_world(2);
  world.host(1).listeners = {{.port = 29500, .address = "127.0.0.1"}, {.port = 29501}};
  world.host(2).listeners = {{.port = 29502}};
  EXPECT_EQ(world.layout().master_port, 29502);
}

TEST(MasterPort, LiesOutsideTheRangesOfAllHosts) {
  World world = good_world(2);
  world.host(2).port_range_first = 15000;
  world.host(2).port_range_last = 65000;
  EXPECT_EQ(world.layout().master_port, 14999);
  world.host(1).listeners = {{.port = 14999}};
  EXPECT_EQ(world.layout().master_port, 14998);
  world.host(1).port_range_first = 1024;
  world.host(1).port_range_last = 65535;
  EXPECT_EQ(world.layout().master_port, 0);
  world.job.master_port = 29500;
  EXPECT_EQ(world.layout().master_port, 29500);
}

TEST(MasterPort, GoesBelowWhenAllAboveIsTaken) {
  World world = good_world(1);
  world.host(1).port_range_first = 29502;
  world.host(1).listeners = {{.port = 29500}, {.port = 29501}, {.port = 29499}};
  EXPECT_EQ(world.layout().master_port, 29498);
  world.host(1).port_range_first = -5;
  world.host(1).port_range_last = 1 << 30;
  EXPECT_EQ(world.layout().master_port, 0);
}

TEST(LayoutJson, HoldsEveryDecision) {
  World world = good_world(2);
  for (int number : {1, 2}) world.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  const std::string text = to_json(world.layout());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto value = nlohmann::json::parse(text);
  EXPECT_EQ(value["subnet"], "198.18.0.0/16");
  EXPECT_EQ(value["placements"][1]["rails"][0]["gid_index"], 3);
  EXPECT_EQ(value["engine"]["major"], 5);
  EXPECT_EQ(value["why"].size(), world.layout().why.size());
  world.host(1).mpi.clear();
  world.cluster.hosts[0].name = world.surveys[0].host = "\xff";
  EXPECT_NE(to_json(world.layout()), "");
}

TEST(Decide, CopesWithTenThousandHosts) {
  World world = good_world(10000);
  for (int number = 1; number <= 10000; ++number) {
    world.host(number).interfaces[1].addresses = {
        {fmt::format("10.0.{}.{}", number / 250, number % 250 + 1), 16}};
  }
  const Layout layout = world.layout();
  EXPECT_EQ(layout.subnet, "10.0.0.0/16");
  EXPECT_EQ(layout.placements[9999].address, "10.0.40.1");
}

TEST(Decide, BindsToGpusAndSaysWhereItCannot) {
  World world = gpu_world(3);
  world.job.ranks_per_host = 8;
  world.job.bind_to = "gpu";
  Layout layout = world.layout();
  EXPECT_EQ(layout.bind_to, kBindToGpu);
  EXPECT_EQ(fmt::format("{}", fmt::join(layout.why, "\n")).find("not bound"), std::string::npos);
  world.host(2).gpus[7].cpus = "";  // as in a virtual machine
  world.host(3).gpus.pop_back();
  layout = world.layout();
  EXPECT_NE(
      fmt::format("{}", fmt::join(layout.why, "\n")).find("some ranks on n[2-3] are not bound"),
      std::string::npos);
}

}  // namespace
}  // namespace muster::layout
