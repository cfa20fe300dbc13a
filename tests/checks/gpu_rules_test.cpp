#include <functional>

#include <gtest/gtest.h>

#include "checks/judged.hpp"
#include "layout/gpu_world.hpp"
#include "layout/machines.hpp"

namespace muster::checks {
namespace {

using facts::Gpu;
using layout::gpu_world;
using layout::h100;
using layout::mi300x;

TEST(GpuRules, FindNothingOnHealthyHosts) {
  for (const auto gpu : {h100, mi300x}) {
    World world = gpu_world(4, gpu);
    EXPECT_EQ(brief(world), "");
    world.job.ranks_by = "gpu";
    EXPECT_EQ(brief(world), "");
    world.job.bind_to = "gpu";
    EXPECT_EQ(brief(world), "");
  }
}

// A fault that `make` causes on n3, and the expected finding.
struct Sick {
  std::function<void(facts::Facts&)> make;
  const char* id;
  const char* evidence;
};

TEST(GpuRules, NameTheHostAndTheGpu) {
  const auto gpu3 = [](const std::function<void(Gpu&)>& make) {
    return [make](facts::Facts& host) { make(host.gpus[3]); };
  };
  const Sick cases[] = {
      {gpu3([](Gpu& g) { g.ecc_uncorrected = 2; }), "gpu-ecc-xid",
       "GPU 3 (0000:4b:00.0): 2 errors"},
      {gpu3([](Gpu& g) { g.remap_failed = true; }), "gpu-memory-remap-failed",
       "GPU 3 (0000:4b:00.0): a row could not be remapped"},
      {gpu3([](Gpu& g) { g.remap_pending = true; }), "gpu-memory-remapped",
       "GPU 3 (0000:4b:00.0): a row remap is pending"},
      {gpu3([](Gpu& g) { g.retired_pages_pending = true; }), "gpu-memory-remapped",
       "GPU 3 (0000:4b:00.0): a page retirement is pending"},
      {gpu3([](Gpu& g) { g.throttled_by = {"sw_power_cap", "hw_power_brake_slowdown"}; }),
       "gpu-throttled", "GPU 3 (0000:4b:00.0): hw_power_brake_slowdown"},
      {gpu3([](Gpu& g) { g.pcie_width = 8; }), "gpu-pcie-width", "GPU 3 (0000:4b:00.0): x8 of x16"},
      {gpu3([](Gpu& g) { g.pcie_width = g.pcie_width_max = 8; }), "gpu-pcie-width",
       "GPU 3 (0000:4b:00.0): x8, others x16"},
      {gpu3([](Gpu& g) { g.pcie_gen_max = 3; }), "gpu-pcie-width",
       "GPU 3 (0000:4b:00.0): PCIe generation 3, others on the host 5"},
      {gpu3([](Gpu& g) { g.compute_mode = "Prohibited"; }), "gpu-lost",
       "GPU 3 (0000:4b:00.0): compute mode is Prohibited"},
      {gpu3([](Gpu& g) { g.mig = true, g.mig_devices = {{"3g.40gb", "MIG-1"}}; }),
       "gpus-differ-between-hosts", "GPU 3 (0000:4b:00.0): mig.mode.current is Enabled"},
      {[](facts::Facts& h) { h.gpus.erase(h.gpus.begin() + 3); }, "gpus-differ-between-hosts",
       "7 x NVIDIA H100 80GB HBM3; none at 0000:4b:00.0; on most hosts 8 x NVIDIA H100 80GB HBM3"},
      {gpu3([](Gpu& g) { g.nvlinks_up = 17, g.nvlinks_down = 1; }), "nvlink-down",
       "GPU 3 (0000:4b:00.0): 1 of 18 down"},
      {gpu3([](Gpu& g) { g.processes = {{.pid = 77, .user = "bob", .command = "python3"}}; }),
       "gpu-in-use", "GPU 3 (0000:4b:00.0): process 77 of bob (python3)"},
      {gpu3([](Gpu& g) { g.memory_used_bytes = std::int64_t{40} << 30; }), "gpu-in-use",
       "GPU 3 (0000:4b:00.0): 40 GiB are in use by a process that you cannot see"},
      {gpu3([](Gpu& g) { g.xids = {{.code = 79, .count = 1, .seconds_ago = 60}}; }), "gpu-lost",
       "GPU 3 (0000:4b:00.0): Xid 79 (GPU has fallen off the bus)"},
      {[](facts::Facts& h) { h.gpu_drivers.nvidia = "550.54.15"; }, "gpu-driver-differs",
       "550.54.15; on most hosts 535.129.03"},
      {[](facts::Facts& h) { h.torch.nccl = "2.20.5"; }, "nccl-version-mismatch",
       "2.20.5; on most hosts 2.21.5"},
      {[](facts::Facts& h) {
         h.torch.uses_gpus = false;
         h.torch.cuda = "";
         h.torch.nccl = "";
       },
       "torch-without-cuda", "PyTorch 2.6.0"},
      {[](facts::Facts& h) { h.torch.cuda = "13.0"; }, "driver-too-old",
       "driver 535.129.03; CUDA 13.0 needs driver 580 or later"},
      {[](facts::Facts& h) {
         for (Gpu& gpu : h.gpus) gpu.fabric_state = "";
         h.gpu_drivers.fabric_manager = false;
       },
       "fabric-manager-802", "4 NVSwitches, but no process nv-fabricmanager"},
      {[](facts::Facts& h) { h.gpus[3].fabric_state = "In Progress"; }, "fabric-manager-802",
       "GPU 3 (0000:4b:00.0): fabric state is In Progress"},
      {[](facts::Facts& h) {
         h.not_seen = {{"gpus.nvidia-smi", "nvidia-smi gave no answer within 6 s"}};
       },
       "gpu-tool-fails", "nvidia-smi gave no answer within 6 s"},
      {[](facts::Facts& h) {
         h.not_seen = {{"gpus.nvidia-smi",
                        "nvidia-smi failed with exit code 18: Failed to initialize NVML: "
                        "Driver/library version mismatch"}};
       },
       "nvml-driver-library-mismatch",
       "nvidia-smi failed with exit code 18: Failed to initialize NVML: Driver/library version "
       "mismatch"},
  };
  for (const Sick& sick : cases) {
    World world = gpu_world(4);
    sick.make(world.host(3));
    EXPECT_EQ(brief(world), std::string("warning n3 ") + sick.id) << sick.evidence;
    const auto findings = judged(world);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].evidence, sick.evidence);
    EXPECT_FALSE(findings[0].fix.empty());
  }
}

TEST(GpuRules, ALostGpuIsNamedAndMissed) {
  World world = gpu_world(4);
  world.host(3).gpus[3].problem = "nvidia-smi: Unknown Error";
  world.host(3).gpus[3].index = -1;
  EXPECT_EQ(brief(world), "warning n3 gpu-lost; warning n3 gpus-differ-between-hosts");
  EXPECT_EQ(judged(world)[0].evidence, "GPU at 0000:4b:00.0: nvidia-smi: Unknown Error");
  world.job.ranks_per_host = 8;
  EXPECT_EQ(
      judged(world)[1].evidence,
      "7 x NVIDIA H100 80GB HBM3; on most hosts 8 x NVIDIA H100 80GB HBM3; 8 ranks are to run "
      "there");
}

TEST(GpuRules, WhatStopsEveryProgramIsAnErrorWhereTheUserAskedForGpus) {
  for (const char* by : {"", "gpu"}) {
    World world = gpu_world(2);
    world.job.ranks_by = by;
    for (int number : {1, 2}) world.host(number).torch.cuda = "13.0";
    EXPECT_EQ(brief(world),
              *by == '\0' ? "warning n[1-2] driver-too-old" : "error n[1-2] driver-too-old");
  }
}

TEST(GpuRules, MixedHostsWork) {
  World world = gpu_world(2);
  for (Gpu& gpu : world.host(2).gpus) {
    gpu.model = "NVIDIA A100-SXM4-80GB";
    gpu.pcie_gen_max = 4;
    gpu.nvlinks_up = 12;
  }
  ASSERT_EQ(brief(world), "note n2 gpus-differ-between-hosts");
  EXPECT_TRUE(has(judged(world)[0].fix, "the job can run"));
}

TEST(GpuRules, FewerGpusByDesignAreOnlyNoted) {
  World world = gpu_world(4);
  for (int number : {3, 4}) world.host(number).gpus.resize(4);
  EXPECT_EQ(brief(world), "note n[3-4] gpus-differ-between-hosts");
  world.host(3).gpus = world.host(1).gpus;
  EXPECT_EQ(brief(world), "note n4 gpus-differ-between-hosts");
  world.job.ranks_per_host = 8;  // more than n4 has
  EXPECT_EQ(brief(world), "warning n4 gpus-differ-between-hosts");
}

TEST(GpuRules, AHostThatLacksAGpuIsNamedWhereverItStands) {
  for (const int hosts : {2, 4}) {
    for (const int lacking : {1, 2}) {
      World world = gpu_world(hosts);
      world.host(lacking).gpus.pop_back();
      EXPECT_EQ(brief(world), fmt::format("warning n{} gpus-differ-between-hosts", lacking));
    }
  }
  World other = gpu_world(4);  // a machine of another model
  other.host(2).gpus.resize(6);
  other.host(2).cpu.model = "another CPU";
  EXPECT_FALSE(has(brief(other), "warning n2 gpus-differ-between-hosts")) << brief(other);
}

TEST(GpuRules, HostsOfWhichOneHasNoGpu) {
  World world = gpu_world(3);
  world.host(2).gpus = {};
  world.host(2).gpu_drivers = {};
  world.host(2).torch.nccl = "";
  EXPECT_EQ(brief(world), "warning n2 gpus-differ-between-hosts");
  world.job.ranks_by = "cpu";  // without ranks by GPU, GPUs do not matter
  EXPECT_EQ(brief(world), "");
}

TEST(GpuRules, MigOnSomeHostsOnly) {
  World world = gpu_world(3);
  for (Gpu& gpu : world.host(2).gpus) {
    gpu.mig = true;
    gpu.mig_devices = {{"3g.40gb", "MIG-1"}};
  }
  ASSERT_EQ(brief(world), "warning n2 gpus-differ-between-hosts");
  EXPECT_TRUE(has(judged(world)[0].what, "MIG mode is on"));
}

TEST(GpuRules, LeaveAloneWhatTheRanksDoNotSee) {
  World world = gpu_world(2);
  world.host(1).gpus[3].ecc_uncorrected = 5;
  world.job.env_values = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(brief(world), "");
}

TEST(GpuRules, ExcuseWhatIsUsual) {
  World world = gpu_world(2);
  Gpu& gpu = world.host(1).gpus[0];
  gpu.throttled_by = {"sw_power_cap", "applications_clocks_setting"};
  gpu.processes = {{.pid = 5, .user = "root", .command = "Xorg", .memory_bytes = 1 << 27},
                   {.pid = 6, .user = "root", .command = "nvidia-cuda-mps"}};
  gpu.xids = {{.code = 79, .count = 1, .seconds_ago = 100'000},
              // The first is too old to matter, and another program caused the second.
              {.code = 31, .count = 9, .seconds_ago = 5}};
  gpu.pcie_width = 0;  // unknown
  gpu.nvlinks_up = 0;  // no NVLink bridge installed
  gpu.nvlinks_down = 4;
  world.host(1).not_seen = {{"gpus.xids", "cannot read the kernel's log"}};
  world.host(1).gpu_drivers.fabric_manager.reset();
  EXPECT_EQ(brief(world), "");
  world.host(1).torch.cuda = "13.0";
  world.host(1).environment.seen["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat";
  EXPECT_EQ(brief(world), "");
}

TEST(GpuRules, SayNothingAboutACardThatNobodyUses) {
  World world = layout::good_world(2);
  for (int number : {1, 2}) {
    world.host(number).gpus = {h100(0)};
    world.host(number).gpus[0].problem = "the NVIDIA driver is not loaded";
  }
  EXPECT_EQ(brief(world), "");
  world.host(1).gpus[0].problem = "";
  EXPECT_EQ(brief(world), "warning n2 gpu-lost; warning n2 gpus-differ-between-hosts");
}

// Eight InfiniBand rails on each host of a world with GPUs.
World rail_world(int hosts) {
  World world = gpu_world(hosts);
  for (int number = 1; number <= hosts; ++number) {
    facts::Facts& host = world.host(number);
    for (int rail = 0; rail < 8; ++rail) {
      host.rdma.push_back(layout::ib_port(fmt::format("mlx5_{}", rail), "400 Gb/sec (4X NDR)"));
    }
    host.peer_memory.module = "nvidia_peermem";
  }
  return world;
}

TEST(GpuRules, NameTheHostWithoutGpudirect) {
  World world = rail_world(3);
  EXPECT_EQ(brief(world), "");
  world.host(2).peer_memory.module = "";
  EXPECT_EQ(brief(world), "warning n2 gdr-peermem-missing");
  EXPECT_TRUE(has(judged(world)[0].fix, "sudo modprobe nvidia_peermem"));
  world.host(2).peer_memory.dmabuf = true;
  EXPECT_EQ(brief(world), "");
  for (int number : {1, 2, 3}) world.host(number).peer_memory = {};  // no host uses GPUDirect
  EXPECT_EQ(brief(world), "");
}

// Clusters with mixed hardware.
TEST(MixedClusters, OneRailMoreIsNoFinding) {
  World world = rail_world(4);
  world.host(4).rdma.push_back(layout::ib_port("mlx5_8", "400 Gb/sec (4X NDR)"));
  EXPECT_EQ(brief(world), "");
}

TEST(MixedClusters, SmallerMachinesAreOnlyNoted) {
  World world = rail_world(4);
  for (int number : {3, 4}) {
    world.host(number).gpus.resize(4);
    world.host(number).rdma.resize(4);
  }
  EXPECT_EQ(brief(world), "note n[3-4] gpus-differ-between-hosts");
}

TEST(MixedClusters, OtherGpusAndSlowerCardsAreOnlyNoted) {
  World world = rail_world(4);
  for (int number : {3, 4}) {
    facts::Facts& host = world.host(number);
    host.cpu.model = "another CPU";
    for (Gpu& gpu : host.gpus) {
      gpu.model = "NVIDIA A100-SXM4-80GB";
      gpu.pcie_gen_max = 4;
      gpu.nvlinks_up = 12;
    }
    for (facts::RdmaPort& port : host.rdma) port.rate = "200 Gb/sec (4X HDR)";
  }
  EXPECT_EQ(brief(world), "note n[3-4] gpus-differ-between-hosts");
}

TEST(MixedClusters, AnOlderPcieOfAWholeHostIsNoFinding) {
  World world = rail_world(4);
  for (Gpu& gpu : world.host(4).gpus) gpu.pcie_gen_max = 4;
  EXPECT_EQ(brief(world), "");
}

TEST(GpuRules, SayThatHealthIsUnknownWithoutTheTool) {
  World world = gpu_world(1);
  world.host(1).not_seen = {{"gpus.nvidia-smi", "nvidia-smi is not installed"}};
  EXPECT_EQ(brief(world), "note n1 facts-not-gathered");
}

}  // namespace
}  // namespace muster::checks
