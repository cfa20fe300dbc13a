// GPUs: what their drivers show in files, and what the vendors' tools report within a deadline.
// Loads no driver library. On a host without GPUs this reads a few folders and starts no process.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Where to look. The defaults are for this host.
struct GpuSources {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
  std::string rocm = "/opt/rocm";
  std::string path = {};      // folders to search for the tools, in the form of PATH
  bool in_container = false;  // if true, processes of the host are not visible
  std::chrono::milliseconds deadline = std::chrono::seconds(6);
};

// The sources of this host, using PATH from the environment.
[[nodiscard]] GpuSources gpu_sources(std::chrono::milliseconds deadline);

struct GpuReport {
  std::vector<Gpu> gpus = {};
  GpuDrivers drivers = {};
  std::vector<NotSeen> not_seen = {};
};

[[nodiscard]] GpuReport read_gpus(const GpuSources& sources);

// Returns "535.129.03" from the text of /proc/driver/nvidia/version; empty if it contains no
// version.
[[nodiscard]] std::string nvidia_driver_version(std::string_view text);

// Returns the newest version of CUDA that this driver supports. Empty if the driver is older than
// all known ones.
[[nodiscard]] std::string cuda_of_driver(std::string_view driver);

}  // namespace muster::facts
