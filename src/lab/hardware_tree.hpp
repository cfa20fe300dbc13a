// The files by which programs see the hardware of a host: /sys, /proc/driver and the vendors'
// tools. Pure.
#pragma once

#include <string>
#include <string_view>

#include "lab/hardware.hpp"
#include "lab/tree.hpp"

namespace muster::lab {

// `cpus`: how many the machine has; they are dealt out to the NUMA nodes of the profile.
[[nodiscard]] Tree hardware_tree(const Hardware& hardware, int cpus);

// Folders of /sys whose real content the host must not show beside the profile's.
[[nodiscard]] std::vector<std::string> hidden_folders();

// The CPUs of a NUMA node, as in 0-3; empty: it has none.
[[nodiscard]] std::string cpu_list(int numa, int numa_nodes, int cpus);

// Where the device is below /sys/devices: pci0000:15/0000:15:01.0/0000:18:00.0
[[nodiscard]] std::string pci_path(const PciDevice& device);

// The fabric manager of NVSwitches: here a process of that name that does nothing.
constexpr std::string_view kFabricManager = "/usr/bin/nv-fabricmanager";

// Parts of the whole: what each adds to the tree.
void add_nvidia(const Hardware& hardware, Tree& tree);
void add_amd(const Hardware& hardware, Tree& tree);
[[nodiscard]] std::string nvidia_smi_script(const Hardware& hardware, int cpus);
[[nodiscard]] std::string amd_smi_script(const Hardware& hardware);

}  // namespace muster::lab
