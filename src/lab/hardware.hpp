// The GPUs and network cards that a host of the lab shows: that of the machine in the profile, with
// this host's own identifiers and defects. Plain values; pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

struct PciDevice {
  std::string address;                    // 0000:1b:00.0
  std::string vendor, device, pci_class;  // 0x10de, 0x2330, 0x030200
  std::string driver;                     // empty: no driver
  std::vector<std::string> bridges;       // bridges above it, beginning with the root port
  int numa = 0;
  int width = 16;
  int max_width = 16;
  std::string speed, max_speed;  // 32.0 GT/s PCIe
  // False: reads return all ones, as from a device that fell off the bus.
  bool answers = true;
};

struct GpuProcess {
  int pid = 0;  // PID that the process has on the host
  std::string name;
  int memory_mib = 0;
};

struct Gpu {
  PciDevice pci;
  std::string uuid;
  std::string serial;
  unsigned clock_reasons = 0;  // the bits of clocks_event_reasons.active
  std::string compute_mode = "Default";
  int ecc_uncorrected = 0;
  int links_down = 0;  // how many of its NVLinks are down
  bool remap_pending = false;
  bool remap_failed = false;
  bool mig = false;
  bool persistence = true;
  std::vector<GpuProcess> processes;
};

struct GpuModel {
  std::string vendor;  // nvidia or amd; empty: no GPU
  std::string name;
  std::string driver;           // version of the kernel module
  std::string runtime;          // highest CUDA version, or installed ROCm version
  std::string kernel_platform;  // as in the first line of /proc/driver/nvidia/version
  std::string compute_capability;
  std::string vbios;
  int memory_mib = 0;  // 0: the tool reports none, because CPU and GPU share memory
  int power_limit_watts = 0;
  int links = 0;           // NVLinks per GPU
  std::string link_speed;  // GB/s, as nvidia-smi nvlink -s prints it
  bool ecc = true;
  bool mig = true;      // whether the model supports MIG
  bool fabric = false;  // has NVSwitches, so the fabric manager must run
};

struct Gid {
  int index = 0;
  bool ipv4 = false;  // false: the link-local address
  bool v2 = false;
};

struct RdmaDevice {
  std::string name;
  std::string use;  // rail, storage or management
  PciDevice pci;
  std::string link_layer;  // as in sysfs: InfiniBand, Ethernet, Unknown
  std::string rate;
  std::string state = "4: ACTIVE";
  std::string phys_state = "5: LinkUp";
  std::string firmware, board, type;  // fw_ver, board_id, hca_type; empty: no such file
  std::string guid;                   // 16 hexadecimal digits that differ between hosts
  std::string mac;
  std::string interface;  // empty: none
  std::string address;    // of the interface; empty: none
  std::vector<Gid> gids;
  // Numbers that are added to the GID indices, to make them differ between hosts, which take the
  // numbers in turn.
  std::vector<int> gid_shifts;
  std::map<std::string, long> error_counters;  // only those that are not 0
  int mtu = 1500;
  bool present = true;
};

enum class ToolState { kWorks, kHangs, kMismatch, kMissing };

struct Hardware {
  std::string name, about;
  std::vector<std::string> sources;
  int numa_nodes = 1;
  std::string management;  // name of the interface in the lab's first network
  PciDevice management_card;
  GpuModel model;
  std::vector<Gpu> gpus;
  std::vector<RdmaDevice> rdma;
  std::vector<PciDevice> others;
  std::vector<std::string> modules;  // loaded modules, as in lsmod
  std::vector<std::string> kernel_log;
  long uptime_us = 0;  // time of the lines in the kernel's log
  ToolState tool = ToolState::kWorks;
  bool fabric_manager = false;  // whether it is running
};

// The names of the machines that `lab up --like` accepts.
[[nodiscard]] std::vector<std::string> profile_names();
[[nodiscard]] Result<Hardware> load_profile(std::string_view name);
[[nodiscard]] Result<Hardware> parse_profile(std::string_view name, std::string_view yaml);

// A file that is embedded in the binary.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] const std::vector<EmbeddedText>& profile_texts();
[[nodiscard]] std::string_view nvidia_smi_program();

// Sets what differs between hosts: serial numbers, GUIDs, addresses, GID indices.
void make_own(Hardware& hardware, int host);

// The address of a host's card. It is in 198.19.128.0/17, where the cards with the same number
// share a subnet.
constexpr int kRailPrefixLength = 24;
[[nodiscard]] std::string rail_address(int rail, int host);

// A network card whose interface is not in the first network and has its own cable.
struct RailInterface {
  int number = 0;  // number of the card in the profile
  std::string interface;
  std::string address;  // empty: none
  std::string mac;
  int mtu = 1500;
  bool in_switch = true;  // false: no cable, or a cable to another kind of network
  bool up = true;

  [[nodiscard]] std::vector<HostAddress> addresses() const {
    if (address.empty()) return {};
    return {{address, kRailPrefixLength}};
  }
};
[[nodiscard]] std::vector<RailInterface> rail_interfaces(const Hardware& hardware);

// The hardware of a healthy host of the lab. Empty without a profile, and for the launcher.
[[nodiscard]] Result<Hardware> healthy_hardware(const Spec& spec, int host);
[[nodiscard]] std::vector<RailInterface> rails_of(const Spec& spec, int host);

}  // namespace muster::lab
