// The files in which programs see the hardware of a host: /sys, /proc/driver and the vendors'
// tools. Pure.
#pragma once

#include <string>
#include <string_view>

#include "lab/hardware.hpp"
#include "lab/tree.hpp"

namespace muster::lab {

// `cpus` is the number of CPUs of the machine. They are distributed over the NUMA nodes of the
// profile.
[[nodiscard]] Tree hardware_tree(const Hardware& hardware, int cpus);

// Folders of /sys whose real content must be hidden from the host.
[[nodiscard]] std::vector<std::string> hidden_folders();

// The CPUs of a NUMA node in the form 0-3; empty if it has none.
[[nodiscard]] std::string cpu_list(int numa, int numa_nodes, int cpus);

// The device's path below /sys/devices, such as pci0000:15/0000:15:01.0/0000:18:00.0.
[[nodiscard]] std::string pci_path(const PciDevice& device);

// The fabric manager for NVSwitches. In the lab it is a process of this name that does nothing.
constexpr std::string_view kFabricManager = "/usr/bin/nv-fabricmanager";

// Parts of hardware_tree: each adds the files of one vendor.
void add_nvidia(const Hardware& hardware, Tree& tree);
void add_amd(const Hardware& hardware, Tree& tree);
[[nodiscard]] std::string nvidia_smi_script(const Hardware& hardware, int cpus);
[[nodiscard]] std::string amd_smi_script(const Hardware& hardware);

}  // namespace muster::lab
