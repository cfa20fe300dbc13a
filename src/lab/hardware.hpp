// What a host of the lab shows of GPUs and network cards: the profile of a machine, made this
// host's own, with whatever is broken about it. Plain values; pure.
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
  std::string driver;                     // empty: none is bound
  std::vector<std::string> bridges;       // above it, the root port first
  int numa = 0;
  int width = 16;
  int max_width = 16;
  std::string speed, max_speed;  // 32.0 GT/s PCIe
  bool answers = true;           // false: reads return all ones, as from a device that fell off
};

struct GpuProcess {
  int pid = 0;  // on the host
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
  int links_down = 0;  // of its NVLinks
  bool remap_pending = false;
  bool remap_failed = false;
  bool mig = false;
  bool persistence = true;
  std::vector<GpuProcess> processes;
};

struct GpuModel {
  std::string vendor;  // nvidia, amd; empty: no GPU
  std::string name;
  std::string driver;           // version of the kernel module
  std::string runtime;          // highest CUDA, or the ROCm that is installed
  std::string kernel_platform;  // as in the first line of /proc/driver/nvidia/version
  std::string compute_capability;
  std::string vbios;
  int memory_mib = 0;  // 0: the tool reports none, as where CPU and GPU share their memory
  int power_limit_watts = 0;
  int links = 0;           // NVLinks per GPU
  std::string link_speed;  // GB/s, as nvidia-smi nvlink -s prints it
  bool ecc = true;
  bool mig = true;      // the model can be divided
  bool fabric = false;  // NVSwitches: the fabric manager has to run
};

struct Gid {
  int index = 0;
  bool ipv4 = false;  // else the link-local address
  bool v2 = false;
};

struct RdmaDevice {
  std::string name;
  std::string use;  // rail, storage or management
  PciDevice pci;
  std::string link_layer;  // as the kernel writes it: InfiniBand, Ethernet, Unknown
  std::string rate;
  std::string state = "4: ACTIVE";
  std::string phys_state = "5: LinkUp";
  std::string firmware, board, type;  // fw_ver, board_id, hca_type; empty: there is no such file
  std::string guid;                   // 16 hexadecimal digits, this host's
  std::string mac;
  std::string interface;  // empty: it has none
  std::string address;    // of the interface; empty: none
  std::vector<Gid> gids;
  std::vector<int> gid_shifts;                 // added to the indices, by host in turn
  std::map<std::string, long> error_counters;  // those that are not 0
  int mtu = 1500;
  bool present = true;
};

enum class ToolState { kWorks, kHangs, kMismatch, kMissing };

struct Hardware {
  std::string name, about;
  std::vector<std::string> sources;
  int numa_nodes = 1;
  std::string management;  // the interface of the lab's first network
  PciDevice management_card;
  GpuModel model;
  std::vector<Gpu> gpus;
  std::vector<RdmaDevice> rdma;
  std::vector<PciDevice> others;
  std::vector<std::string> modules;  // loaded, as lsmod names them
  std::vector<std::string> kernel_log;
  long uptime_us = 0;  // when the lines of the kernel's log were written
  ToolState tool = ToolState::kWorks;
  bool fabric_manager = false;  // runs
};

// The machines that `lab up --like` knows.
[[nodiscard]] std::vector<std::string> profile_names();
[[nodiscard]] Result<Hardware> load_profile(std::string_view name);
[[nodiscard]] Result<Hardware> parse_profile(std::string_view name, std::string_view yaml);

// Files that are embedded in the binary.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] const std::vector<EmbeddedText>& profile_texts();
[[nodiscard]] std::string_view nvidia_smi_program();

// Gives the profile what differs from host to host: serial numbers, GUIDs, addresses, GID indices.
void make_own(Hardware& hardware, int host);

// The address of a card on its own network, in 198.19.128.0/17, a subnet for each card.
constexpr int kRailPrefixLength = 24;
[[nodiscard]] std::string rail_address(int rail, int host);

// A network card with an interface other than the first network's: a cable of its own.
struct RailInterface {
  int number = 0;  // counts the cards of the profile
  std::string interface;
  std::string address;  // empty: it has none
  std::string mac;
  int mtu = 1500;
  bool in_switch = true;  // false: no cable, or one to another kind of network
  bool up = true;

  [[nodiscard]] std::vector<HostAddress> addresses() const {
    if (address.empty()) return {};
    return {{address, kRailPrefixLength}};
  }
};
[[nodiscard]] std::vector<RailInterface> rail_interfaces(const Hardware& hardware);

// Of a healthy host of the lab; without any where the lab has no profile, and on the launcher.
[[nodiscard]] Result<Hardware> healthy_hardware(const Spec& spec, int host);
[[nodiscard]] std::vector<RailInterface> rails_of(const Spec& spec, int host);

}  // namespace muster::lab
