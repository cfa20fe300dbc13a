// GPUs: what their drivers show as files and what the vendors' tools tell, within a deadline. No
// driver library is loaded. On a host without GPUs this reads a few folders and starts nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Where to look; the defaults are this host.
struct GpuSources {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
  std::string rocm = "/opt/rocm";
  std::string path = {};      // where the tools are, as in PATH
  bool in_container = false;  // processes of the host cannot be seen
  std::chrono::milliseconds deadline = std::chrono::seconds(6);
};

// For this host, with the PATH of the environment.
[[nodiscard]] GpuSources gpu_sources(std::chrono::milliseconds deadline);

struct GpuReport {
  std::vector<Gpu> gpus = {};
  GpuDrivers drivers = {};
  std::vector<NotSeen> not_seen = {};
};

[[nodiscard]] GpuReport read_gpus(const GpuSources& sources);

// "535.129.03" out of /proc/driver/nvidia/version; empty: it does not tell.
[[nodiscard]] std::string nvidia_driver_version(std::string_view text);

// The CUDA version that came with a driver of this version or the last before it.
[[nodiscard]] std::string cuda_of_driver(std::string_view driver);

}  // namespace muster::facts
