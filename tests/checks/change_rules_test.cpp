#include <functional>

#include <gtest/gtest.h>

#include "checks/judged.hpp"
#include "facts/saved_state.hpp"
#include "layout/gpu_world.hpp"
#include "layout/machines.hpp"

namespace muster::checks {
namespace {

using facts::Facts;
using facts::Gpu;
using layout::gpu_world;
using layout::h100;

constexpr double kSavedAt = 1793577600;  // 2026-11-02

// Returns the states of all hosts as `muster check --save` would store them.
std::vector<facts::SavedState> saved_states(const World& world) {
  std::vector<facts::SavedState> states;
  for (const facts::Survey& survey : world.surveys) {
    states.push_back(
        {.host = survey.host, .saved_s = kSavedAt, .facts = facts::worth_saving(*survey.facts)});
  }
  return states;
}

std::vector<Finding> judged_with(const World& world, const std::vector<facts::SavedState>& saved) {
  const layout::Layout layout = world.layout();
  std::vector<Finding> all = judge({.job = world.job,
                                    .cluster = world.cluster,
                                    .surveys = world.surveys,
                                    .launcher = world.launcher,
                                    .layout = layout,
                                    .saved = saved});
  std::erase_if(all, [](const Finding& one) {
    return !one.id.ends_with("-changed") && one.id != "saved-state-unusable";
  });
  return all;
}

// Returns one line per finding, such as "warning n3 memory-changed: what | evidence".
std::string lines_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) {
    EXPECT_NE(one.severity, Severity::kError);
    text += one.severity == Severity::kWarning ? "warning " : "note ";
    text += fmt::format("{} {}: {}", hosts::fold(one.hosts), one.id, one.what);
    if (!one.evidence.empty()) text += " | " + one.evidence;
    text += '\n';
  }
  return text;
}

struct ChangedHost {
  const char* name;
  std::function<void(Facts&)> change;  // changes the facts of n3
  std::string found;                   // the expected finding, without the newline
};

void expect_found(const World& healthy, const std::vector<ChangedHost>& cases) {
  const auto saved = saved_states(healthy);
  EXPECT_EQ(lines_of(judged_with(healthy, saved)), "");
  for (const ChangedHost& one : cases) {
    World world = healthy;
    one.change(world.host(3));
    EXPECT_EQ(lines_of(judged_with(world, saved)), one.found.empty() ? "" : one.found + "\n")
        << one.name;
  }
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

World plain_world() {
  World world = good_world(4);
  for (int number = 1; number <= 4; ++number) {
    Facts& host = world.host(number);
    host.os = "Debian GNU/Linux 12 (bookworm)";
    host.kernel = "6.1.0-18-amd64";
    host.memory_bytes = 503 * kGiB;
    host.torch = {.torchrun = "/venv/bin/torchrun", .version = "2.13.0"};
  }
  return world;
}

TEST(Changes, OfAHostAreNamedWithWhatWasThere) {
  const std::vector<ChangedHost> cases = {
      {"less memory", [](Facts& h) { h.memory_bytes = 252 * kGiB; },
       "warning n3 memory-changed: its memory is 252 GiB; it was 503 GiB on 2026-11-02"},
      {"more memory", [](Facts& h) { h.memory_bytes = 1006 * kGiB; },
       "note n3 memory-changed: its memory is 1006 GiB; it was 503 GiB on 2026-11-02"},
      {"another kernel's reserve", [](Facts& h) { h.memory_bytes -= 4 * kGiB; }, ""},
      {"memory that cannot be read", [](Facts& h) { h.memory_bytes = 0; }, ""},
      {"fewer cores", [](Facts& h) { h.cpu.cores = h.cpu.usable = 4; },
       "warning n3 cpu-changed: its CPUs are worse than on 2026-11-02 | number of CPU cores: 4 "
       "(was "
       "8); number of usable CPUs: 4 (was 8)"},
      {"fewer usable CPUs", [](Facts& h) { h.cpu.usable = 6; },
       "warning n3 cpu-changed: its number of usable CPUs is 6; it was 8 on 2026-11-02"},
      {"without AVX", [](Facts& h) { h.cpu.isa = {"fma"}; },
       "warning n3 cpu-changed: its CPU is without avx, avx2; it was with them on 2026-11-02"},
      {"extensions that a newer muster knows", [](Facts& h) { h.cpu.isa.emplace_back("amx"); }, ""},
      {"slower interface", [](Facts& h) { h.interfaces[1].speed_mbit = 1000; },
       "warning n3 interface-changed: the speed of eth0 is 1000 Mbit/s; it was 10000 Mbit/s on "
       "2026-11-02"},
      {"an unknown speed", [](Facts& h) { h.interfaces[1].speed_mbit = -1; }, ""},
      {"larger MTU", [](Facts& h) { h.interfaces[1].mtu = 9000; },
       "note n3 interface-changed: the MTU of eth0 is 9000; it was 1500 on 2026-11-02"},
      {"another address, by DHCP",
       [](Facts& h) { h.interfaces[1].addresses[0].ip = "198.18.0.33"; }, ""},
      {"no address", [](Facts& h) { h.interfaces[1].addresses = {{"fe80::1", 64}}; },
       "warning n3 interface-changed: the address of eth0 is missing; it was 198.18.0.3/16 on "
       "2026-11-02"},
      {"down", [](Facts& h) { h.interfaces[1].up = false; },
       "warning n3 interface-changed: the state of eth0 is down; it was up on 2026-11-02"},
      {"lower hard limit", [](Facts& h) { h.limits.nofile = {1024, 4096}; },
       "warning n3 limit-changed: its hard limit of open files (ulimit -Hn) is 4096; it was 65536 "
       "on 2026-11-02"},
      {"a soft limit that muster can raise", [](Facts& h) { h.limits.nofile = {1024, 65536}; }, ""},
      {"locked memory", [](Facts& h) { h.limits.memlock = {65536, 65536}; },
       "warning n3 limit-changed: its limit of locked memory (ulimit -l) is 64 KiB; it was "
       "unlimited on 2026-11-02"},
      {"no locked memory at all", [](Facts& h) { h.limits.memlock = {0, 0}; },
       "warning n3 limit-changed: its limit of locked memory (ulimit -l) is 0 bytes; it was "
       "unlimited on 2026-11-02"},
      {"small /dev/shm", [](Facts& h) { h.shm_bytes = std::int64_t{64} << 20; },
       "warning n3 limit-changed: its /dev/shm is 64 MiB; it was 16 GiB on 2026-11-02"},
      {"no /dev/shm", [](Facts& h) { h.shm_bytes = -1; },
       "warning n3 limit-changed: its /dev/shm is missing; it was 16 GiB on 2026-11-02"},
      {"new kernel and MPI",
       [](Facts& h) {
         h.kernel = "6.1.0-20-amd64";
         h.mpi[0].version = "5.0.12";
       },
       "note n3 software-changed: its software has changed since 2026-11-02 | kernel: "
       "6.1.0-20-amd64 "
       "(was 6.1.0-18-amd64); MPI of /opt/ompi/bin/mpirun: Open MPI 5.0.12 (was Open MPI 5.0.11)"},
      {"new PyTorch", [](Facts& h) { h.torch.version = "2.14.0"; },
       "note n3 software-changed: the PyTorch of /venv/bin/torchrun is 2.14.0; it was 2.13.0 on "
       "2026-11-02"},
      {"the PyTorch of another environment",
       [](Facts& h) { h.torch = {.torchrun = "/other/torchrun", .version = "2.14.0"}; }, ""},
  };
  expect_found(plain_world(), cases);
}

TEST(Changes, OfLimitsThatFollowFromTheMemoryHaveItsTolerance) {
  World world = plain_world();
  for (int number = 1; number <= 4; ++number) {
    world.host(number).limits.nproc = {2060000, 2060000};
    world.host(number).limits.memlock = {63 * kGiB, 63 * kGiB};
  }
  const std::vector<ChangedHost> cases = {
      {"after an update of the kernel",
       [](Facts& h) {
         h.limits.nproc = {2059873, 2059873};
         h.limits.memlock = {63 * kGiB - 4096, 63 * kGiB - 4096};
       },
       ""},
      {"lower", [](Facts& h) { h.limits.nproc = {4096, 4096}; },
       "warning n3 limit-changed: its limit of processes (ulimit -u) is 4096; it was 2060000 on "
       "2026-11-02"},
      {"higher", [](Facts& h) { h.limits.memlock = {-1, -1}; },
       "note n3 limit-changed: its limit of locked memory (ulimit -l) is unlimited; it was 63 GiB "
       "on 2026-11-02"},
  };
  expect_found(world, cases);
}

facts::Interface made_as(const char* made, facts::Interface interface) {
  interface.made = made;
  return interface;
}

// The hosts have interfaces that tools for containers and virtual machines create.
World world_with_virtual_interfaces() {
  World world = plain_world();
  for (int number = 1; number <= 4; ++number) {
    auto& interfaces = world.host(number).interfaces;
    interfaces.push_back(layout::virtual_bridge("docker0", "172.17.0.1"));
    interfaces.push_back(made_as("veth", layout::port("cali1", "10.4.0.1", 32)));
    interfaces.push_back(made_as("bridge", layout::port("br0", "198.19.0.1")));
  }
  return world;
}

TEST(Changes, OfVirtualInterfacesAreNoneOfTheHost) {
  const auto drop = [](const char* name) {
    return [name](Facts& host) {
      std::erase_if(host.interfaces, [&](const auto& one) { return one.name == name; });
    };
  };
  const std::vector<ChangedHost> cases = {
      {"the bridge of containers that were removed", drop("docker0"), ""},
      {"the veth of a pod that has ended", drop("cali1"), ""},
      {"the ports of a bridge",
       [](Facts& h) {
         h.interfaces.back().mtu = 1400;
         h.interfaces.back().speed_mbit = 100;
       },
       ""},
      {"a bridge over a card", drop("br0"),
       "warning n3 interface-changed: the state of br0 is missing; it was up on 2026-11-02"},
  };
  expect_found(world_with_virtual_interfaces(), cases);
}

TEST(Changes, OfAContainersInterfaceAreFound) {
  World world = plain_world();
  for (int number = 1; number <= 4; ++number) {
    world.host(number).interfaces[1].made = "veth";
    world.host(number).container.engine = "podman";
  }
  expect_found(world, {{"gone", [](Facts& h) { h.interfaces.pop_back(); },
                        "warning n3 interface-changed: the state of eth0 is missing; it was up on "
                        "2026-11-02"}});
}

TEST(Changes, OfGpusNameTheGpu) {
  const auto gpu3 = [](const std::function<void(Gpu&)>& make) {
    return [make](Facts& host) { make(host.gpus[3]); };
  };
  const std::string gpu = "GPU 3 (0000:4b:00.0)";
  const std::vector<ChangedHost> cases = {
      {"lost", [](Facts& h) { h.gpus.erase(h.gpus.begin() + 3); },
       "warning n3 gpu-changed: its number of GPUs is 7 (none at 0000:4b:00.0); it was 8 on "
       "2026-11-02"},
      {"not usable", gpu3([](Gpu& g) { g.problem = "Unknown Error", g.memory_bytes = -1; }),
       "warning n3 gpu-changed: the state of " + gpu +
           " is not usable: Unknown Error; it was usable on 2026-11-02"},
      {"fewer lanes", gpu3([](Gpu& g) { g.pcie_width = g.pcie_width_max = 8; }),
       "warning n3 gpu-changed: the number of PCIe lanes of " + gpu +
           " is 8; it was 16 on 2026-11-02"},
      {"of all of them",
       [](Facts& h) {
         for (Gpu& one : h.gpus) one.pcie_gen_max = 4;
       },
       "warning n3 gpu-changed: the PCIe generation of GPU 0 (0000:1b:00.0), GPU 1 (0000:2b:00.0), "
       "GPU 2 (0000:3b:00.0), GPU 3 (0000:4b:00.0) and 4 more is 4; it was 5 on 2026-11-02"},
      {"errors", gpu3([](Gpu& g) { g.ecc_uncorrected = 4; }),
       "warning n3 gpu-changed: the number of uncorrectable memory errors of " + gpu +
           " is 4; it was 0 on 2026-11-02"},
      {"without ECC", gpu3([](Gpu& g) { g.ecc_uncorrected = -1; }),
       "warning n3 gpu-changed: the error correction (ECC) of " + gpu +
           " is not reported; it was reported on 2026-11-02"},
      {"NVLinks", gpu3([](Gpu& g) { g.nvlinks_up = 16, g.nvlinks_down = 2; }),
       "warning n3 gpu-changed: the number of NVLinks of " + gpu +
           " is 16; it was 18 on 2026-11-02"},
      {"MIG", gpu3([](Gpu& g) { g.mig = true, g.ecc_uncorrected = -1; }),
       "note n3 gpu-changed: the MIG mode of " + gpu +
           " is enabled; it was disabled on 2026-11-02"},
      {"a tool that tells nothing", gpu3([](Gpu& g) {
         g.memory_bytes = g.ecc_uncorrected = g.nvlinks_up = -1, g.pcie_width = 0;
         g.mig = g.persistence = std::nullopt;
       }),
       ""},
      {"throttled, in use and hot", gpu3([](Gpu& g) {
         g.throttled_by = {"hw_slowdown"}, g.memory_used_bytes = kGiB, g.processes = {{.pid = 1}};
       }),
       ""},
      {"nvidia-smi that fails: the card could do more than its slot",
       [](Facts& h) {
         h.not_seen.push_back({.what = "gpus.nvidia-smi", .why = "no answer"});
         for (Gpu& one : h.gpus) {
           one.model = "NVIDIA H100";
           one.pcie_gen_max = 6;
           one.memory_bytes = one.ecc_uncorrected = one.nvlinks_up = -1;
         }
       },
       ""},
      {"other numbers of the buses",
       [](Facts& h) {
         for (Gpu& one : h.gpus) one.pci.replace(5, 2, "a" + one.pci.substr(5, 1));
         h.gpus[3].pcie_width = 8;
       },
       "warning n3 gpu-changed: the number of PCIe lanes of GPU 3 (0000:a4:00.0) is 8; it was 16 "
       "on "
       "2026-11-02"},
      {"fewer, at other places",
       [](Facts& h) {
         h.gpus.pop_back();
         for (Gpu& one : h.gpus) one.pci.replace(5, 2, "a" + one.pci.substr(5, 1));
       },
       "warning n3 gpu-changed: its number of GPUs is 7; it was 8 on 2026-11-02"},
      {"driver", [](Facts& h) { h.gpu_drivers.nvidia = "550.54.15"; },
       "note n3 software-changed: its NVIDIA driver is 550.54.15; it was 535.129.03 on "
       "2026-11-02"},
  };
  expect_found(gpu_world(4), cases);
}

TEST(Changes, OfAmdGpusAreOnlyThoseThatItsToolTold) {
  const World healthy = gpu_world(4, layout::mi300x);
  const std::vector<ChangedHost> cases = {
      {"without ECC",
       [](Facts& h) {
         for (Gpu& one : h.gpus) one.ecc_uncorrected = -1;
       },
       "warning n3 gpu-changed: the error correction (ECC) of GPU 0 (0000:1b:00.0), GPU 1 "
       "(0000:2b:00.0), GPU 2 (0000:3b:00.0), GPU 3 (0000:4b:00.0) and 4 more is not reported; it "
       "was reported on 2026-11-02"},
      {"a question without an answer",
       [](Facts& h) {
         h.not_seen.push_back({.what = "gpus.health", .why = "amd-smi did not answer"});
         for (Gpu& one : h.gpus) one.ecc_uncorrected = -1;
       },
       ""},
      {"amd-smi fails: the driver has names of its own",
       [](Facts& h) {
         h.not_seen.push_back({.what = "gpus.amd-smi", .why = "amd-smi did not print JSON"});
         for (Gpu& one : h.gpus) one.ecc_uncorrected = -1, one.model = "AMD gfx942";
       },
       ""},
  };
  expect_found(healthy, cases);
  // The tool failed only when the state was saved.
  World failed = healthy;
  cases[2].change(failed.host(3));
  EXPECT_EQ(lines_of(judged_with(healthy, saved_states(failed))), "");
}

// GPU `index` of two cards with four partitions each.
Gpu partition(int index) {
  Gpu gpu = layout::mi300x(index);
  gpu.pci = layout::mi300x(index / 4).pci;
  return gpu;
}

TEST(Changes, OfAmdGpusInPartitionsCountThePartitions) {
  const std::vector<ChangedHost> cases = {
      {"lost", [](Facts& h) { h.gpus.pop_back(); },
       "warning n3 gpu-changed: its number of GPUs is 7 (none at 0000:2b:00.0 partition 4); it was "
       "8 on 2026-11-02"},
      {"more", [](Facts& h) { h.gpus.push_back(h.gpus.back()); },
       "note n3 gpu-changed: its number of GPUs is 9; it was 8 on 2026-11-02"},
  };
  expect_found(gpu_world(4, partition), cases);
}

TEST(Changes, OfRdmaPortsNameThePort) {
  World world = layout::world_of(4, layout::make_dgx_h100);
  for (int number = 1; number <= 4; ++number) {
    for (facts::RdmaPort& port : world.host(number).rdma) port.firmware = "28.39.1002";
  }
  const std::vector<ChangedHost> cases = {
      {"down", [](Facts& h) { h.rdma[3].active = false, h.rdma[3].physical_state = "Polling"; },
       "warning n3 rdma-changed: the state of mlx5_5 is not active (Polling); it was active on "
       "2026-11-02"},
      {"gone", [](Facts& h) { h.rdma.erase(h.rdma.begin() + 3); },
       "warning n3 rdma-changed: the state of mlx5_5 is missing; it was active on 2026-11-02"},
      {"slow and old firmware",
       [](Facts& h) {
         h.rdma[3].rate = "100 Gb/sec (4X EDR)";
         h.rdma[3].firmware = h.rdma[4].firmware = "20.30.1004";
       },
       "warning n3 rdma-changed: the rate of mlx5_5 is 100 Gb/sec (4X EDR); it was 400 Gb/sec (4X "
       "NDR) on 2026-11-02\n"
       "note n3 rdma-changed: the firmware of mlx5_5, mlx5_6 is 20.30.1004; it was 28.39.1002 on "
       "2026-11-02"},
      {"moved GIDs", [](Facts& h) { h.rdma[3].gids.clear(); }, ""},
  };
  expect_found(world, cases);
}

TEST(Changes, OfRdmaPortsFollowThePciAddress) {
  World world = layout::world_of(4, layout::make_hgx_roce);
  for (int number = 1; number <= 4; ++number) {
    int bus = 1;
    for (facts::RdmaPort& port : world.host(number).rdma) {
      port.pci_address = fmt::format("0000:{:02x}:00.0", bus++);
    }
  }
  const std::string slow = "is 100 Gb/sec (4X EDR); it was 400 Gb/sec (4X NDR) on 2026-11-02";
  const std::vector<ChangedHost> cases = {
      // mlx5_bond_0 is slower than the others.
      {"two devices whose numbers were swapped at boot",
       [](Facts& h) { std::swap(h.rdma[0].device, h.rdma[8].device); }, ""},
      {"renamed by udev",
       [](Facts& h) {
         for (facts::RdmaPort& port : h.rdma) port.device = "roce" + port.device;
       },
       ""},
      {"swapped, and one is slow",
       [](Facts& h) {
         std::swap(h.rdma[0].device, h.rdma[1].device);
         h.rdma[0].rate = "100 Gb/sec (4X EDR)";
       },
       "warning n3 rdma-changed: the rate of mlx5_1 " + slow},
      {"one has failed, and those behind it have new numbers",
       [](Facts& h) {
         h.rdma.erase(h.rdma.begin() + 6);
         h.rdma[6].device = "mlx5_6";
       },
       "warning n3 rdma-changed: the state of mlx5_6 is missing; it was active on 2026-11-02"},
      {"other numbers of the buses",
       [](Facts& h) {
         for (facts::RdmaPort& port : h.rdma) port.pci_address.replace(0, 4, "0001");
         h.rdma[2].rate = "100 Gb/sec (4X EDR)";
       },
       "warning n3 rdma-changed: the rate of mlx5_2 " + slow},
  };
  expect_found(world, cases);
}

TEST(Changes, OfTheModuleForGpudirectCountWhereItIsNeeded) {
  World world = layout::world_of(4, layout::make_hgx_roce);
  for (int number = 1; number <= 4; ++number) {
    world.host(number).peer_memory.module = "nvidia_peermem";
  }
  const std::vector<ChangedHost> cases = {
      {"needed", [](Facts& h) { h.peer_memory.module.clear(); },
       "warning n3 rdma-changed: its module for GPUDirect RDMA is not loaded; it was "
       "nvidia_peermem on 2026-11-02"},
      {"dmabuf replaces it", [](Facts& h) { h.peer_memory = {.module = "", .dmabuf = true}; }, ""},
      {"nobody looked, for there are no ports",
       [](Facts& h) {
         h.rdma.clear();
         h.peer_memory = {};
       },
       "warning n3 rdma-changed: the state of mlx5_0, mlx5_1, mlx5_2, mlx5_3 and 5 more is "
       "missing; "
       "it was active on 2026-11-02"},
  };
  expect_found(world, cases);
}

TEST(Changes, OfSeveralHostsAreOneFinding) {
  const World healthy = plain_world();
  World world = healthy;
  for (const int number : {2, 3, 4}) world.host(number).memory_bytes = 252 * kGiB;
  EXPECT_EQ(lines_of(judged_with(world, saved_states(healthy))),
            "warning n[2-4] memory-changed: its memory is 252 GiB; it was 503 GiB on 2026-11-02\n");
  EXPECT_TRUE(
      has(judged_with(world, saved_states(healthy))[0].fix, "\n  muster check -H 'n[2-4]' --save"));
}

TEST(Changes, AreAcceptedInTheSameEnvironment) {
  const World healthy = plain_world();
  const auto fix_with = [&](const layout::Job& job) {
    World world = healthy;
    world.job = job;
    world.host(3).memory_bytes = 252 * kGiB;
    return judged_with(world, saved_states(healthy)).at(0).fix;
  };
  EXPECT_TRUE(
      has(fix_with({.engine = "openmpi"}), "\n  muster check -H n3 --engine openmpi --save"));
  // The activation may contain secrets, so the fix must not show it.
  const std::string fix = fix_with({.activate = "export HF_TOKEN=secret"});
  EXPECT_TRUE(has(fix, "\n  muster check -H n3 --save\nwith the same --activate as now"));
  EXPECT_FALSE(has(fix, "secret"));
}

TEST(Changes, ShowSizesThatDiffer) {
  World world = plain_world();
  for (int number = 1; number <= 4; ++number) world.host(number).memory_bytes = 16 * kGiB - 1;
  expect_found(world, {{"less", [](Facts& h) { h.memory_bytes -= kGiB / 2; },
                        "warning n3 memory-changed: its memory is 15.5 GiB; it was 16.0 GiB on "
                        "2026-11-02"}});
}

std::string compared_in(const World& world, const std::vector<facts::SavedState>& saved) {
  const layout::Layout layout = world.layout();
  return compared_states({.job = world.job,
                          .cluster = world.cluster,
                          .surveys = world.surveys,
                          .launcher = world.launcher,
                          .layout = layout,
                          .saved = saved});
}

TEST(Changes, SayWhichHostsWereCompared) {
  const World world = plain_world();
  auto saved = saved_states(world);
  EXPECT_EQ(compared_in(world, saved), "compared with the saved state of n[1-4]");
  saved.erase(saved.begin() + 3);
  EXPECT_EQ(compared_in(world, saved), "compared with the saved state of n[1-3]; n4 has none");
  saved[2].facts.reset();  // only rates are stored
  saved[1].problem = "no JSON";
  EXPECT_EQ(compared_in(world, saved), "compared with the saved state of n1; n[3-4] have none");
  EXPECT_EQ(compared_in(world, {}), "no saved state of n[1-4]");
}

TEST(Changes, NeedAStateThatCanBeUsed) {
  const World healthy = plain_world();
  auto saved = saved_states(healthy);
  saved[0].problem = "/state/n1.json: no JSON";
  saved[0].facts.reset();
  saved[1].facts.reset();  // only rates are stored
  saved[2].facts->hostname = "other";
  saved[2].facts->memory_bytes = 1;
  saved.erase(saved.begin() + 3);  // n4 has no saved state
  World world = healthy;
  for (int number = 1; number <= 4; ++number) world.host(number).memory_bytes = 252 * kGiB;
  EXPECT_EQ(lines_of(judged_with(world, saved)),
            "note n1 saved-state-unusable: not compared with its saved state | /state/n1.json: no "
            "JSON\n"
            "note n3 saved-state-unusable: not compared with its saved state | the host calls "
            "itself n3, but the saved state is that of other\n");
}

}  // namespace
}  // namespace muster::checks
