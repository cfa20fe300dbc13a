// Intel's GPUs according to /sys/class/drm. No tool of Intel is called, so their health is unknown.
#include <filesystem>

#include <fmt/format.h>

#include "facts/gpu_vendors.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::string_view kIntelVendor = "0x8086";

// The last component of the path that `link` resolves to. For renderD128/device this is the PCI
// address, for renderD128/device/driver the driver's name.
std::string last_part(const std::string& link) {
  std::error_code failed;
  return std::filesystem::canonical(link, failed).filename();
}

// Whether the GPU is a separate card. The GPU inside a CPU is always device 2 on the first bus, and
// does not count as an accelerator.
bool is_card(const std::string& address) {
  return !address.ends_with(":00:02.0");
}

}  // namespace

void read_intel_gpus(const GpuSources& sources, GpuReport& report) {
  const std::string drm = sources.sys + "/class/drm";
  int index = 0;
  for (const std::string& name : names_in(drm)) {
    if (!name.starts_with("renderD")) continue;
    const std::string device = drm + "/" + name + "/device";
    if (first_line(device + "/vendor") != kIntelVendor) continue;
    const std::string address = last_part(device);
    if (!is_card(address)) continue;
    // A container sees all of /sys, but only those device files that it was given.
    std::error_code failed;
    if (!std::filesystem::exists(sources.dev + "/dri/" + name, failed)) continue;
    Gpu gpu{.index = index++,
            .vendor = "Intel",
            .model = fmt::format("Intel GPU {}", first_line(device + "/device")),
            .pci = pci_address(address)};
    read_pci(sources.sys + "/bus/pci/devices", gpu);
    report.gpus.push_back(std::move(gpu));
    report.drivers.intel = last_part(device + "/driver");
  }
}

}  // namespace muster::facts
