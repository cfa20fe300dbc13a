// What a host reports about its GPUs. Part of Facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::facts {

struct GpuProcess {
  int pid = 0;
  // Empty if the process is in another container, or has ended.
  std::string user = {};
  std::string command = {};
  std::int64_t memory_bytes = -1;  // -1: unknown

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// A part of a GPU that programs use like a whole GPU.
struct MigDevice {
  std::string profile;  // "1g.10gb"
  std::string uuid;     // "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"

  friend bool operator==(const MigDevice&, const MigDevice&) = default;
};

// The errors with one code that the NVIDIA driver wrote to the kernel's log.
struct Xid {
  int code = 0;
  int count = 0;
  double seconds_ago = -1;  // time since the last one; -1: unknown

  friend bool operator==(const Xid&, const Xid&) = default;
};

struct Gpu {
  int index = 0;         // number among the vendor's GPUs, as its tool counts them
  std::string vendor;    // "NVIDIA", "AMD", "Intel"
  std::string model;     // "NVIDIA H100 80GB HBM3"
  std::string pci = {};  // "0000:18:00.0"
  std::string uuid = {};
  std::string problem = {};  // why programs cannot use it; empty if they can
  int numa_node = -1;        // -1: unknown
  std::string cpus = {};     // the CPUs of its NUMA node: "0-55,112-167"
  std::int64_t memory_bytes = -1;
  std::int64_t memory_used_bytes = -1;
  int pcie_width = 0;  // lanes; 0: unknown
  int pcie_width_max = 0;
  int pcie_gen_max = 0;
  std::int64_t ecc_uncorrected = -1;  // errors since the driver was loaded
  std::optional<bool> remap_pending = std::nullopt;
  std::optional<bool> remap_failed = std::nullopt;
  std::optional<bool> retired_pages_pending = std::nullopt;
  // Why its clocks are reduced now: "hw_thermal_slowdown", ... Being idle does not count.
  std::vector<std::string> throttled_by = {};
  std::optional<bool> mig = std::nullopt;  // whether MIG mode is on
  std::vector<MigDevice> mig_devices = {};
  std::optional<bool> persistence = std::nullopt;
  std::string compute_mode = {};  // "Default", "Exclusive_Process", "Prohibited"; empty: unknown
  std::string fabric_state = {};  // for a GPU on NVSwitches: "Completed", "In Progress", ...
  std::vector<GpuProcess> processes = {};
  int nvlinks_up = -1;  // -1: unknown
  int nvlinks_down = -1;
  std::vector<Xid> xids = {};

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// What the GPUs of a host share: drivers and NVSwitches.
struct GpuDrivers {
  std::string nvidia = {};  // "535.129.03"; empty: driver not loaded
  std::string cuda = {};    // the newest version that this driver supports
  std::string amd = {};
  std::string rocm = {};
  std::string intel = {};  // "i915" or "xe"
  int nvswitches = 0;
  // Whether the fabric manager of NVSwitches runs; nothing if unknown or not needed.
  std::optional<bool> fabric_manager = std::nullopt;
};

}  // namespace muster::facts
