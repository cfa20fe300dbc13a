// Healthy hosts with GPUs, built in code. A test then breaks one thing.
#pragma once

#include <fmt/format.h>

#include "layout/world.hpp"

namespace muster::layout {

inline facts::Gpu h100(int index) {
  facts::Gpu gpu{.index = index,
                 .vendor = "NVIDIA",
                 .model = "NVIDIA H100 80GB HBM3",
                 .pci = fmt::format("0000:{:x}b:00.0", index + 1),
                 .uuid = fmt::format("GPU-{}", index)};
  gpu.numa_node = index / 4;
  gpu.cpus = index < 4 ? "0-55" : "56-111";
  gpu.memory_bytes = std::int64_t{81559} << 20;
  gpu.memory_used_bytes = std::int64_t{4} << 20;
  gpu.pcie_width = gpu.pcie_width_max = 16;
  gpu.pcie_gen_max = 5;
  gpu.ecc_uncorrected = 0;
  gpu.remap_pending = gpu.remap_failed = false;
  gpu.mig = false;
  gpu.persistence = true;
  gpu.fabric_state = "Completed";
  gpu.nvlinks_up = 18;
  gpu.nvlinks_down = 0;
  return gpu;
}

inline facts::Gpu mi300x(int index) {
  facts::Gpu gpu = h100(index);
  gpu.vendor = "AMD";
  gpu.model = "AMD Instinct MI300X";
  gpu.mig = gpu.persistence = gpu.remap_pending = gpu.remap_failed = std::nullopt;
  gpu.fabric_state = "";
  gpu.nvlinks_up = gpu.nvlinks_down = -1;
  return gpu;
}

// Eight GPUs on each host, and a PyTorch build for them.
inline World gpu_world(int hosts, facts::Gpu (*gpu)(int) = h100) {
  World world = good_world(hosts);
  const bool nvidia = gpu(0).vendor == "NVIDIA";
  for (int number = 1; number <= hosts; ++number) {
    facts::Facts& host = world.host(number);
    host.cpu.usable = 112;
    for (int index = 0; index < 8; ++index) host.gpus.push_back(gpu(index));
    if (nvidia) {
      host.gpu_drivers = {.nvidia = "535.129.03", .cuda = "12.2", .nvswitches = 4};
      host.gpu_drivers.fabric_manager = true;
    } else {
      host.gpu_drivers = {.amd = "6.8.5", .rocm = "6.2.4"};
    }
    host.torch = {.torchrun = "/venv/bin/torchrun", .version = "2.6.0", .uses_gpus = true};
    (nvidia ? host.torch.cuda : host.torch.rocm) = nvidia ? "12.4" : "6.2";
    host.torch.nccl = "2.21.5";
  }
  return world;
}

}  // namespace muster::layout
