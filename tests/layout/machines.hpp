// Facts of real machine types, as far as the choice of rails depends on them.
#pragma once

#include <initializer_list>

#include "layout/gid.hpp"
#include "layout/world.hpp"

namespace muster::layout {

inline std::string gid_text(const std::string& address) {
  const Ip ip = parse_ip(address).value();
  const bool ipv4 = ip.family == Family::kIpv4;
  std::string text = ipv4 ? "0000:0000:0000:0000:0000:ffff" : "";
  for (std::size_t i = 0; i < (ipv4 ? 4 : 16); i += 2) {
    text += fmt::format("{}{:02x}{:02x}", text.empty() ? "" : ":", ip.bytes[i], ip.bytes[i + 1]);
  }
  return text;
}

inline facts::RdmaPort ib_port(const std::string& device, const std::string& rate,
                               const std::string& board = "MT_0000000838") {
  return {.device = device,
          .port = 1,
          .active = true,
          .link_layer = "InfiniBand",
          .rate = rate,
          .gids = {{0, "fe80:0000:0000:0000:a088:c203:0000:0001", "IB/RoCE v1", ""}},
          .physical_state = "LinkUp",
          .driver = "mlx5_core",
          .numa_node = 0,
          .board = board};
}

// A RoCE port with its own interface. `index` is that of the RoCE v2 GID for `address`.
inline void add_roce(facts::Facts& host, const std::string& device, const std::string& interface,
                     const std::string& address, int index, const std::string& rate,
                     int prefix = 24) {
  const std::string local = "fe80:0000:0000:0000:0000:0000:0000:0001";
  host.interfaces.push_back(
      port(interface, address, prefix, static_cast<int>(1000 * std::atof(rate.c_str()))));
  host.interfaces.back().mtu = 9000;
  host.rdma.push_back({.device = device,
                       .port = 1,
                       .active = true,
                       .link_layer = "Ethernet",
                       .rate = rate,
                       .gids = {{0, local, "IB/RoCE v1", interface},
                                {1, local, "RoCE v2", interface},
                                {index - 1, gid_text(address), "IB/RoCE v1", interface},
                                {index, gid_text(address), "RoCE v2", interface}},
                       .physical_state = "LinkUp",
                       .driver = "mlx5_core",
                       .numa_node = 0,
                       .interfaces = {interface},
                       .board = "MT_0000000838"});
}

// A world whose hosts were changed by `make`, which gets each host and its number.
template <class Make>
World world_of(int hosts, const Make& make) {
  World world = good_world(hosts);
  for (int number = 1; number <= hosts; ++number) make(world.host(number), number);
  return world;
}

// Eight cards for eight GPUs, and two cards with two ports each for storage and management.
inline void make_dgx_h100(facts::Facts& host, int number) {
  host.gpus.assign(8, facts::Gpu{.model = "NVIDIA H100 80GB HBM3"});
  for (const int card : {0, 3, 4, 5, 6, 9, 10, 11}) {
    host.rdma.push_back(ib_port(fmt::format("mlx5_{}", card), "400 Gb/sec (4X NDR)"));
  }
  for (const int card : {1, 7}) {
    host.rdma.push_back(
        ib_port(fmt::format("mlx5_{}", card), "400 Gb/sec (4X NDR)", "MT_0000000891"));
  }
  add_roce(host, "mlx5_2", "ens6f1np1", fmt::format("10.9.0.{}", number), 3, "100 Gb/sec (4X EDR)");
  facts::RdmaPort unused = ib_port("mlx5_8", "10 Gb/sec (4X SDR)", "MT_0000000891");
  unused.active = false;
  unused.physical_state = "Polling";
  host.rdma.push_back(unused);
}

inline void make_hgx_roce(facts::Facts& host, int number) {
  host.gpus.assign(8, facts::Gpu{.model = "NVIDIA H200"});
  for (int rail = 0; rail < 8; ++rail) {
    add_roce(host, fmt::format("mlx5_{}", rail), fmt::format("gpu{}", rail),
             fmt::format("10.10.{}.{}", rail, number), 3, "400 Gb/sec (4X NDR)");
  }
  add_roce(host, "mlx5_bond_0", "bond0", fmt::format("10.20.0.{}", number), 3,
           "200 Gb/sec (4X HDR)");
}

// One QSFP port with a cable, which appears as two cards. The other port, without a cable, appears
// as two more.
inline void make_dgx_spark(facts::Facts& host, int number) {
  host.gpus = {facts::Gpu{.model = "NVIDIA GB10"}};
  host.cpu.architecture = "aarch64";
  add_roce(host, "rocep1s0f0", "enp1s0f0np0", fmt::format("192.168.100.{}", number),
           number == 1 ? 3 : 5, "200 Gb/sec (4X HDR)");
  add_roce(host, "roceP2p1s0f0", "enP2p1s0f0np0", fmt::format("192.168.101.{}", number), 7,
           "200 Gb/sec (4X HDR)");
  for (const char* name : {"rocep1s0f1", "roceP2p1s0f1"}) {
    host.rdma.push_back({.device = name,
                         .port = 1,
                         .active = false,
                         .link_layer = "Ethernet",
                         .rate = "40 Gb/sec (4X QDR)",
                         .physical_state = "Disabled"});
  }
}

inline void make_aws_p5(facts::Facts& host, int /*number*/) {
  host.gpus.assign(8, facts::Gpu{.model = "NVIDIA H100 80GB HBM3"});
  for (int card = 0; card < 32; ++card) {
    host.rdma.push_back({.device = fmt::format("rdmap{}s0", 79 + card),
                         .port = 1,
                         .active = true,
                         .link_layer = "Unknown",
                         .rate = "100 Gb/sec (4X EDR)",
                         .driver = "efa"});
  }
}

inline void make_mi300x(facts::Facts& host, int number) {
  host.gpus.assign(8, facts::Gpu{.model = "AMD gfx942"});
  for (int rail = 0; rail < 8; ++rail) {
    add_roce(host, fmt::format("bnxt_re{}", rail), fmt::format("benic{}p1", rail + 1),
             fmt::format("10.30.{}.{}", rail, number), 3, "400 Gb/sec (4X NDR)");
    host.rdma.back().driver = "bnxt_en";
  }
  add_roce(host, "bnxt_re_bond0", "fenic0", fmt::format("10.31.0.{}", number), 3,
           "25 Gb/sec (1X EDR)");
}

// A pod with a macvlan interface on a bond. The card's table also has the GIDs of other pods.
inline void make_macvlan_pod(facts::Facts& host, int number) {
  host.gpus.assign(4, facts::Gpu{.model = "NVIDIA A100-SXM4-80GB"});
  const std::string address = fmt::format("10.40.0.{}", 10 + number);
  add_roce(host, "mlx5_bond_0", "net1", address, 7 + 2 * number, "100 Gb/sec (4X EDR)");
  auto& gids = host.rdma.back().gids;
  gids.insert(gids.begin() + 2, {{2, gid_text("10.40.0.99"), "IB/RoCE v1", ""},
                                 {3, gid_text("10.40.0.99"), "RoCE v2", ""}});
}

}  // namespace muster::layout
