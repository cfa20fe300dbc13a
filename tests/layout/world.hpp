// A healthy cluster, built in code. A test then breaks one thing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "facts/facts.hpp"
#include "layout/job.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

inline facts::Interface port(std::string name, std::string ip, int prefix = 16, int speed = 10000) {
  return {.name = std::move(name),
          .kind = facts::InterfaceKind::kPort,
          .up = true,
          .mtu = 1500,
          .speed_mbit = speed,
          .addresses = {{std::move(ip), prefix}}};
}

inline facts::Interface virtual_bridge(std::string name, std::string ip, int prefix = 16) {
  facts::Interface bridge = port(std::move(name), std::move(ip), prefix);
  bridge.kind = facts::InterfaceKind::kVirtual;
  return bridge;
}

inline std::string gid_of(int last_byte) {  // the GID of 198.18.0.last_byte
  return fmt::format("0000:0000:0000:0000:0000:ffff:c612:{:04x}", last_byte);
}

inline facts::RdmaPort roce(const std::string& device, const std::string& interface,
                            int last_byte) {
  return {.device = device,
          .port = 1,
          .active = true,
          .link_layer = "Ethernet",
          .rate = "100 Gb/sec (4X EDR)",
          .gids = {{0, "fe80:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", interface},
                   {1, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", interface},
                   {2, gid_of(last_byte), "IB/RoCE v1", interface},
                   {3, gid_of(last_byte), "RoCE v2", interface}}};
}

inline facts::RdmaPort infiniband(const std::string& device) {
  return {.device = device, .port = 1, .active = true, .link_layer = "InfiniBand"};
}

inline facts::Mpi open_mpi(const std::string& version, const std::string& folder = "/opt/ompi") {
  return {.kind = "openmpi",
          .version = version,
          .launcher = folder + "/bin/mpirun",
          .library = {folder + "/lib/libmpi.so", "hash of " + version, 1000}};
}

inline facts::Facts good_host(const std::string& name, int last_byte) {
  const std::string ip = fmt::format("198.18.0.{}", last_byte);
  facts::Facts host{.host = name, .hostname = name, .uid = 1000, .user = "alice"};
  host.home = "/home/alice";
  host.cpu = {.architecture = "x86_64",
              .model = "a CPU",
              .isa = {"avx", "avx2", "fma"},
              .cores = 8,
              .usable = 8,
              .numa_nodes = 1};
  host.interfaces = {{.name = "lo",
                      .kind = facts::InterfaceKind::kLoopback,
                      .up = true,
                      .addresses = {{"127.0.0.1", 8}}},
                     port("eth0", ip)};
  host.routes = {{"198.18.0.0/16", "eth0"}, {"0.0.0.0/0", "eth0", "198.18.0.1"}};
  host.own_name_resolves_to = {ip};
  host.limits = {.nofile = {65536, 65536}, .memlock = {-1, -1}, .nproc = {-1, -1}};
  host.shm_bytes = host.shm_free_bytes = std::int64_t{16} << 30;
  host.port_range_first = 32768;
  host.port_range_last = 60999;
  host.ssh_files = {{.path = "/home/alice/.ssh", .mode = 0700, .uid = 1000}};
  host.mpi = {open_mpi("5.0.11")};
  return host;
}

struct World {
  Job job;
  hosts::Cluster cluster;
  std::vector<facts::Survey> surveys;
  facts::Facts launcher;

  facts::Facts& host(int number) { return *surveys.at(number - 1).facts; }  // 1 is n1

  void lose(int number, std::string id, Error error) {
    surveys.at(number - 1).facts = unexpected(std::move(error));
    surveys.at(number - 1).failure_id = std::move(id);
  }

  [[nodiscard]] Result<Layout> decided() const { return decide(job, cluster, surveys, launcher); }
  [[nodiscard]] Layout layout() const { return decided().value(); }
};

// Hosts n1 ... nN at 198.18.0.1 ... N, without slot counts, and a launcher at 198.18.0.250.
inline World good_world(int hosts) {
  World world;
  for (int number = 1; number <= hosts; ++number) {
    const std::string name = fmt::format("n{}", number);
    world.cluster.hosts.push_back({.name = name});
    world.surveys.push_back({.host = name, .facts = good_host(name, number)});
  }
  world.launcher = good_host("launcher", 250);
  return world;
}

// The same hosts in fd00::/64, in addition to IPv4 or, if `only`, without it.
inline World ipv6_world(int hosts, bool only) {
  World world = good_world(hosts);
  const auto change = [&](facts::Facts& host, int number) {
    auto& addresses = host.interfaces[1].addresses;
    if (only) addresses.clear();
    addresses.push_back({fmt::format("fd00::{}", number), 64});
    addresses.push_back({fmt::format("fe80::{}", number), 64});
    if (only) host.own_name_resolves_to = {fmt::format("fd00::{}", number)};
    if (only) host.routes = {{"fd00::/64", "eth0"}, {"::/0", "eth0", "fe80::1"}};
  };
  for (int number = 1; number <= hosts; ++number) change(world.host(number), number);
  change(world.launcher, 250);
  return world;
}

// The same cluster with a program that all hosts have.
inline World good_world_with_program(int hosts) {
  World world = good_world(hosts);
  world.job.program = {"/opt/job/train"};
  world.job.folder = "/opt/job";
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).folder_exists = true;
    world.host(number).program =
        facts::Program{.name = "/opt/job/train",
                       .path = "/opt/job/train",
                       .executable = true,
                       .identity = {"/opt/job/train", "p1", 10},
                       .libmpi = facts::FileIdentity{"/opt/ompi/lib/libmpi.so", "m1", 10},
                       .libmpi_kind = "openmpi",
                       .libmpi_version = "5.0.11"};
  }
  return world;
}

}  // namespace muster::layout
