#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

using layout::infiniband;
using layout::port;
using layout::roce;
using layout::virtual_bridge;

TEST(OwnName, WarnsOfLoopbackAndOfNothing) {
  World world = good_world(3);
  world.host(2).own_name_resolves_to = {"127.0.1.1"};
  EXPECT_EQ(brief(world), "warning n2 hostname-resolves-to-loopback");
  EXPECT_EQ(judged(world).front().evidence, "127.0.1.1");
  EXPECT_TRUE(has(judged(world).front().fix, "muster run is not affected"));
  world.host(3).own_name_resolves_to = {"127.0.1.1"};
  EXPECT_EQ(brief(world), "warning n[2-3] hostname-resolves-to-loopback");
  world.host(3).own_name_resolves_to = {"198.18.0.3"};
  world.host(2).own_name_resolves_to = {};
  EXPECT_EQ(brief(world), "warning n2 hostname-unresolvable-gloo-fallback");
  world.host(2).own_name_resolves_to = {"198.18.0.2", "127.0.0.1"};
  EXPECT_EQ(brief(world), "");
}

TEST(OwnName, IsNotJudgedUnseenOrAlone) {
  World world = good_world(1);
  world.host(1).own_name_resolves_to = {"127.0.1.1"};
  EXPECT_EQ(brief(world), "");
  World unseen = good_world(2);
  unseen.host(1).own_name_resolves_to = {};
  unseen.host(1).not_seen = {{"own_name", "there is no getent"}};
  EXPECT_EQ(brief(unseen), "note n1 facts-not-gathered");
}

TEST(NoSubnet, NamesTheHostsOutside) {
  World world = good_world(4);
  world.host(3).interfaces[1].addresses = {{"10.0.0.3", 24}};
  ASSERT_EQ(brief(world), "error n3 ompi-oob-no-common-interface");
  EXPECT_EQ(judged(world).front().evidence, "198.18.0.0/16 on n[1-2,4]; n3 has 10.0.0.3/24 (eth0)");
  world.host(3).interfaces[1].kind = facts::InterfaceKind::kVirtual;
  EXPECT_TRUE(has(judged(world).front().evidence, "n3 has no network that leads out of the host"));
}

TEST(NoSubnet, NamesAllWhereNoTwoMeet) {
  World world = good_world(2);
  world.host(2).interfaces[1].addresses = {{"10.0.0.3", 24}};
  EXPECT_EQ(brief(world), "error n[1-2] ompi-oob-no-common-interface");
  World alone = good_world(1);
  alone.host(1).interfaces.clear();
  EXPECT_EQ(brief(alone), "");
}

TEST(Ipv6, IsANetworkLikeAnyOther) {
  EXPECT_EQ(brief(layout::ipv6_world(3, true)), "");
  EXPECT_EQ(brief(layout::ipv6_world(3, false)), "");
  World lost = layout::ipv6_world(3, true);
  lost.host(2).interfaces[1].addresses[0].ip = "fd99::2";
  ASSERT_EQ(brief(lost), "error n2 ompi-oob-no-common-interface");
  EXPECT_EQ(judged(lost).front().evidence, "fd00::/64 on n[1,3]; n2 has fd99::2/64 (eth0)");
}

TEST(Ipv6, AnEngineThatCannotUseItIsRefused) {
  World world = layout::ipv6_world(2, true);
  for (int number : {1, 2}) world.host(number).mpi.front().kind = "mpich";
  world.launcher.mpi.front().kind = "mpich";
  ASSERT_EQ(brief(world), "error all engine-without-ipv6");
  EXPECT_TRUE(has(judged(world).front().fix, "--engine torchrun"));
  World both = layout::ipv6_world(2, false);
  for (int number : {1, 2}) both.host(number).mpi.front().kind = "mpich";
  both.launcher.mpi.front().kind = "mpich";
  EXPECT_EQ(brief(both), "");
}

TEST(Ipv6, AddressesInsteadOfNamesAreRefusedForOpenMpi4) {
  for (const bool only : {true, false}) {
    World world = layout::ipv6_world(2, only);
    world.cluster.hosts[1].name = "fd00::2";
    world.surveys[1].host = "fd00::2";
    EXPECT_EQ(brief(world), "");
    const auto make_old = [](facts::Facts& host) { host.mpi.front().version = "4.1.4"; };
    for (int number : {1, 2}) make_old(world.host(number));
    make_old(world.launcher);
    ASSERT_EQ(brief(world), "error fd00::2 engine-without-ipv6");
    EXPECT_TRUE(has(judged(world).front().fix, "list the hosts by names"));
  }
}

TEST(Ipv6, WarnsWhereGlooWouldTakeAnIpv4AddressThatTheHostsDoNotShare) {
  World world = layout::ipv6_world(2, false);
  world.host(2).interfaces[1].addresses[0] = {"192.168.7.2", 24};
  EXPECT_EQ(brief(world),
            "warning n1 gloo-takes-first-address; warning n2 gloo-takes-first-address");
}

TEST(SameAddress, MayBeAnIpv6Address) {
  World world = layout::ipv6_world(3, true);
  world.host(2).interfaces[1].addresses[0].ip = "fd00::1";
  EXPECT_EQ(brief(world), "error n[1-2] same-address-on-two-hosts");
}

TEST(Interfaces, AreNotedWhenTheirNamesDiffer) {
  World world = good_world(3);
  world.host(3).interfaces[1].name = "ens5";
  world.host(3).routes.clear();
  ASSERT_EQ(brief(world), "note all nccl-picks-wrong-interface");
  EXPECT_EQ(judged(world).front().evidence, "eth0 on n[1-2], ens5 on n3");
}

TEST(Interfaces, AreNotedWhenOneIsAvoided) {
  World world = good_world(3);
  world.host(2).interfaces.push_back(virtual_bridge("cni0", "10.42.2.1", 24));
  ASSERT_EQ(brief(world), "note n2 nccl-picks-wrong-interface");
  EXPECT_EQ(judged(world).front().what,
            "muster does not use cni0; traffic goes through 198.18.0.0/16");
  world.host(2).interfaces.back().up = false;
  EXPECT_EQ(brief(world), "");
}

TEST(InterfaceVariables, NameAnInterfaceThatSomeHostsLack) {
  World world = good_world(3);
  world.host(3).interfaces[1].name = "ens5";
  world.host(3).routes.clear();
  world.job.env_values = {{"GLOO_SOCKET_IFNAME", "ens5"}, {"NCCL_DEBUG", "INFO"}};
  ASSERT_EQ(brief(world),
            "warning n[1-2] nccl-picks-wrong-interface; note all nccl-picks-wrong-interface");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.what,
            "GLOO_SOCKET_IFNAME=ens5 is passed to all ranks, but the host has no such interface");
  EXPECT_EQ(finding.evidence, "the job's interface on the host is eth0");
  EXPECT_TRUE(has(judged(world).back().fix, "unset GLOO_SOCKET_IFNAME"))
      << judged(world).back().fix;
  world.job.env_values = {{"GLOO_SOCKET_IFNAME", "nosuch"}};
  // n3 is in a separate finding, because its evidence differs.
  EXPECT_EQ(judged(world).front().hosts.size(), 2U);
  EXPECT_EQ(judged(world).size(), 3U);
}

TEST(InterfaceVariables, AreReadAsEachLayerReadsThem) {
  World world = good_world(1);
  world.host(1).rdma = {roce("mlx5_0", "eth0", 1)};
  const auto finds = [&](const std::string& name, const std::string& value) {
    world.job.env_values = {{name, value}};
    return brief(world) != "";
  };
  EXPECT_FALSE(finds("NCCL_SOCKET_IFNAME", "eth"));
  EXPECT_FALSE(finds("NCCL_SOCKET_IFNAME", "ib,eth"));
  EXPECT_FALSE(finds("NCCL_SOCKET_IFNAME", "^docker"));
  EXPECT_FALSE(finds("NCCL_SOCKET_IFNAME", "=eth0"));
  EXPECT_TRUE(finds("NCCL_SOCKET_IFNAME", "=eth"));
  EXPECT_TRUE(finds("NCCL_SOCKET_IFNAME", "ib"));
  EXPECT_FALSE(finds("GLOO_SOCKET_IFNAME", "eth0"));
  EXPECT_TRUE(finds("GLOO_SOCKET_IFNAME", "eth"));
  EXPECT_TRUE(finds("GLOO_SOCKET_IFNAME", "eth0,eth1"));
  EXPECT_TRUE(finds("TP_SOCKET_IFNAME", "eth1"));
  EXPECT_FALSE(finds("UCX_NET_DEVICES", "mlx5_0:1"));
  EXPECT_FALSE(finds("UCX_NET_DEVICES", "all"));
  EXPECT_TRUE(finds("UCX_NET_DEVICES", "mlx5_9:1"));
  EXPECT_FALSE(finds("FI_TCP_IFACE", ""));
}

TEST(SameAddress, OnABridgeIsANoteOnly) {
  World world = good_world(3);
  for (int number : {1, 3}) {
    world.host(number).interfaces.push_back(virtual_bridge("docker0", "172.17.0.1"));
  }
  ASSERT_EQ(brief(world), "note n[1,3] ompi-btl-tcp-virtual-interfaces");
  EXPECT_EQ(judged(world).front().what,
            "docker0 has the same address on 2 hosts; muster does not use it");
}

TEST(SameAddress, OnAPortIsAnErrorWhereTheJobRuns) {
  World world = good_world(3);
  world.host(3).interfaces[1].addresses = {{"198.18.0.1", 16}};
  ASSERT_EQ(brief(world), "error n[1,3] same-address-on-two-hosts");
  EXPECT_TRUE(has(judged(world).front().fix, "arping -c 3 -I eth0 198.18.0.1"));
  world.host(3).hostname = "n1";
  EXPECT_TRUE(has(judged(world).front().fix, "list it once"));
}

TEST(SameAddress, OfThisMachineIsAnErrorOnAnother) {
  World world = good_world(2);
  world.launcher.hostname = "launcher";
  world.launcher.interfaces.push_back(port("eth0", "198.18.0.9", 16));
  EXPECT_EQ(brief(world), "");
  world.host(2).interfaces[1].addresses = {{"198.18.0.9", 16}};
  EXPECT_EQ(brief(world), "error n2 same-address-on-two-hosts");
  world.host(2).hostname = "launcher";  // it is the launcher itself, listed as n2
  EXPECT_EQ(brief(world), "");
  world.host(2).hostname = "n2";
  for (const char* no_host : {"198.18.0.0", "198.18.255.255"}) {
    world.host(2).interfaces[1].addresses = {{no_host, 16}};
    EXPECT_TRUE(has(brief(world), "ompi-oob-no-common-interface")) << no_host;
  }
}

TEST(SameAddress, OnAnotherPortIsAWarning) {
  World world = good_world(2);
  for (int number : {1, 2}) world.host(number).interfaces.push_back(port("eth1", "10.0.0.1", 24));
  EXPECT_EQ(brief(world), "warning n[1-2] same-address-on-two-hosts");
  for (int number : {1, 2}) world.host(number).interfaces.back().addresses = {{"169.254.0.1", 16}};
  EXPECT_EQ(brief(world), "");
}

TEST(Port, IsAnErrorWhenTakenOnTheFirstHost) {
  World world = good_world(2);
  world.job.master_port = 29600;
  world.host(2).listeners = {{.port = 29600}};
  EXPECT_EQ(brief(world), "");
  world.host(1).listeners = {{.port = 29600,
                              .address = "0.0.0.0",
                              .pid = 4711,
                              .user = "alice",
                              .command = "python train.py"},
                             {.port = 29500}};
  ASSERT_EQ(brief(world), "error n1 master-port-in-use");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.evidence, "process 4711 of alice (python train.py) listens on 0.0.0.0");
  EXPECT_EQ(finding.fix,
            "--master-port 29501, or end the process if you no longer need it:\n"
            "  muster exec -H n1 -- 'kill 4711'");
  world.host(1).listeners[0].user = "bob";  // another user's process
  EXPECT_FALSE(has(judged(world).front().fix, "kill"));
  world.host(1).listeners[0].pid = 0;
  EXPECT_FALSE(has(judged(world).front().fix, "kill"));
}

TEST(Port, IsForTheFirstPodOnly) {
  World world = good_world(1);
  world.job.pods = 2;
  world.job.master_port = 29600;
  world.host(1).listeners = {{.port = 29600}};
  EXPECT_EQ(brief(world), "error n1 master-port-in-use; note all facts-not-gathered");
  world.job.pod = 1;
  EXPECT_EQ(brief(world), "note all facts-not-gathered");
}

TEST(Port, IsAWarningInTheRangeOfOutgoingConnections) {
  World world = good_world(2);
  world.job.master_port = 40000;
  ASSERT_EQ(brief(world), "warning n1 master-port-ephemeral-collision");
  EXPECT_EQ(judged(world).front().evidence, "ip_local_port_range is 32768 to 60999");
  world.host(1).port_range_first = 50000;
  EXPECT_EQ(brief(world), "");
}

TEST(Port, IsAnErrorWhenThereIsNone) {
  World world = good_world(2);
  world.host(2).port_range_first = 1024;
  world.host(2).port_range_last = 65535;
  // n2's own range of ephemeral ports contains all ports from which muster could choose.
  EXPECT_EQ(brief(world), "error n2 master-port-in-use");
}

TEST(Port, IsOpenToOthersUnderAnElasticTorchrun) {
  World world = good_world(2);
  world.job = {.nodes = 2, .min_nodes = 1, .elastic = true, .engine = "torchrun"};
  for (int number : {1, 2}) world.host(number).torch = {"/venv/bin/torchrun", "2.13.0"};
  EXPECT_EQ(brief(world), "");
  world.host(2).interfaces.push_back(port("eth1", "203.0.113.2", 24));
  EXPECT_EQ(brief(world), "");  // only the first host listens
  world.host(1).interfaces.push_back(port("eth1", "203.0.113.1", 24));
  ASSERT_EQ(brief(world), "warning n1 torchrun-rendezvous-open");
  EXPECT_EQ(judged(world).front().evidence, "outside the job's network: eth1 (203.0.113.1)");
  world.host(1).interfaces.back().addresses = {{"fe80::1", 64}, {"2001:db8::1", 64}};
  EXPECT_EQ(judged(world).front().evidence, "outside the job's network: eth1 (2001:db8::1)");
  world.job = {.nodes = 2, .engine = "torchrun"};
  EXPECT_EQ(brief(world), "note n1 torch-store-open");  // with the static rendezvous
}

TEST(Port, OfPyTorchsStoreIsOpenToOthers) {
  World world = good_world(2);
  const auto is_open = [&] { return has(brief(world), "note n1 torch-store-open"); };
  world.job.program = {"python", "train.py"};
  EXPECT_FALSE(is_open());
  world.host(1).interfaces.push_back(port("eth1", "203.0.113.1", 24));
  ASSERT_TRUE(is_open());
  EXPECT_TRUE(has(judged(world).front().fix, "--confine-store"));
  world.job.confine_store = true;
  EXPECT_FALSE(is_open());
  world.job = {.program = {"./train"}};
  EXPECT_FALSE(is_open());  // not a Python program, and it may use libmuster
}

TEST(Rdma, IsMissedWhereOthersHaveIt) {
  World world = good_world(3);
  for (int number : {1, 2, 3}) world.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  EXPECT_EQ(brief(world), "");
  world.host(2).rdma[0].active = false;
  ASSERT_EQ(brief(world), "warning n2 ib-device-not-found-silent-tcp");
  EXPECT_EQ(judged(world).front().evidence, "mlx5_0 port 1 (Ethernet) is not active");
  EXPECT_TRUE(has(judged(world).front().what, "use TCP"));
  for (int number : {1, 3}) world.host(number).rdma.clear();
  EXPECT_EQ(brief(world), "");  // now no host has a usable device
}

TEST(Rdma, NeedsTheRightGidOnEveryHost) {
  World world = good_world(3);
  for (int number : {1, 2, 3}) world.host(number).rdma = {roce("mlx5_0", "eth0", number)};
  world.host(3).rdma[0].gids.pop_back();
  EXPECT_EQ(brief(world), "warning n3 roce-wrong-gid");
  world.host(3).rdma = {infiniband("mlx5_0")};
  EXPECT_EQ(brief(world), "warning all ib-device-not-found-silent-tcp");
}

}  // namespace
}  // namespace muster::checks
