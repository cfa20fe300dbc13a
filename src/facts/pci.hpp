// PCI devices as /sys/bus/pci/devices shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::facts {

// "0000:18:00.0", also for nvidia-smi's "00000000:18:00.0" and amd-smi's capitals. Empty: the text
// holds no PCI address.
[[nodiscard]] std::string pci_address(std::string_view text);

struct PciDevice {
  std::string address;
  std::string vendor;        // "0x10de"
  std::string device_class;  // "0x030200"
  std::string driver;        // "nvidia"; empty: no driver has taken it
};

// Those of one vendor.
[[nodiscard]] std::vector<PciDevice> pci_devices(const std::string& root, std::string_view vendor);

// Place and link of the device at gpu.pci. What the folder does not tell stays as it is.
void read_pci(const std::string& root, Gpu& gpu);

}  // namespace muster::facts
