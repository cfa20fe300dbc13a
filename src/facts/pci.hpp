// PCI devices according to /sys/bus/pci/devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::facts {

// Returns "0000:18:00.0", also for nvidia-smi's "00000000:18:00.0" and amd-smi's capital letters.
// Empty if the text contains no PCI address.
[[nodiscard]] std::string pci_address(std::string_view text);

struct PciDevice {
  std::string address;
  std::string vendor;        // "0x10de"
  std::string device_class;  // "0x030200"
  std::string driver;        // "nvidia"; empty: no driver uses the device
};

// The devices of one vendor.
[[nodiscard]] std::vector<PciDevice> pci_devices(const std::string& root, std::string_view vendor);

// Sets the NUMA node, CPUs and PCIe link of the GPU at gpu.pci. Values that cannot be read become
// unknown.
void read_pci(const std::string& root, Gpu& gpu);

}  // namespace muster::facts
