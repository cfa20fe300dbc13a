#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "facts/amd_smi.hpp"
#include "facts/gpu_vendors.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

using Properties = std::map<std::string, std::uint64_t, std::less<>>;

// Parses lines of the form "name number".
Properties properties_in(const std::string& file) {
  Properties properties;
  const std::string text = read_start(file).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = words(line);
    const auto value = parts.size() == 2 ? number<std::uint64_t>(parts[1]) : std::nullopt;
    if (value) properties.emplace(parts[0], *value);
  }
  return properties;
}

std::uint64_t property(const Properties& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// Returns the GPU's name, such as gfx942. Newer kernels give the node the name "ip discovery"; then
// the name is made from the version: 90402 is gfx942, and 90010 is gfx90a.
std::string gfx_name(const std::string& node, const Properties& properties) {
  const std::string name = printable(first_line(node + "/name"));
  if (name.starts_with("gfx")) return name;
  const std::uint64_t version = property(properties, "gfx_target_version");
  if (version == 0) return name.empty() ? "GPU" : name;
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::string address_of(const Properties& properties) {
  const std::uint64_t location = property(properties, "location_id");
  // The function number in `location` is that of a partition, which is not a separate PCI device.
  return fmt::format("{:04x}:{:02x}:{:02x}.0", property(properties, "domain"), location >> 8 & 0xff,
                     location >> 3 & 0x1f);
}

std::int64_t memory_of(const std::string& node) {
  std::int64_t bytes = 0;
  for (const std::string& bank : names_in(node + "/mem_banks")) {
    const Properties properties = properties_in(node + "/mem_banks/" + bank + "/properties");
    // 1 and 2 mean memory on the card.
    const std::uint64_t heap = property(properties, "heap_type");
    const std::uint64_t size = property(properties, "size_in_bytes");
    if ((heap == 1 || heap == 2) && size < (std::uint64_t{1} << 50)) {
      bytes += static_cast<std::int64_t>(size);
    }
  }
  return bytes == 0 ? -1 : bytes;
}

Gpu gpu_of_node(const GpuSources& sources, const std::string& node, int index) {
  const Properties properties = properties_in(node + "/properties");
  Gpu gpu{.index = index,
          .vendor = "AMD",
          .model = "AMD " + gfx_name(node, properties),
          .memory_bytes = memory_of(node)};
  if (property(properties, "location_id") != 0) gpu.pci = address_of(properties);
  if (const std::uint64_t id = property(properties, "unique_id"); id != 0) {
    gpu.uuid = fmt::format("GPU-{:016x}", id);
  }
  if (!gpu.pci.empty()) read_pci(sources.sys + "/bus/pci/devices", gpu);
  return gpu;
}

// Adds accelerators on the PCI bus that the driver does not show. Ignores displays, which may be
// left without this driver on purpose.
void add_missing(const GpuSources& sources, GpuReport& report) {
  for (const PciDevice& device : pci_devices(sources.sys + "/bus/pci/devices", "0x1002")) {
    const bool known = std::any_of(report.gpus.begin(), report.gpus.end(),
                                   [&](const Gpu& gpu) { return gpu.pci == device.address; });
    // A device that has a driver but is not shown belongs to another control group.
    if (known || !device.device_class.starts_with("0x12") || !device.driver.empty()) continue;
    Gpu gpu{.index = -1, .vendor = "AMD", .model = "AMD GPU", .pci = device.address};
    gpu.problem = "it is on the PCI bus, but the amdgpu driver does not have it";
    read_pci(sources.sys + "/bus/pci/devices", gpu);
    report.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

void read_amd_gpus(const GpuSources& sources, GpuReport& report) {
  const std::string nodes = sources.sys + "/class/kfd/kfd/topology/nodes";
  std::vector<Gpu> gpus;
  for (const std::string& name : names_in(nodes)) {
    const std::string id = first_line(nodes + "/" + name + "/gpu_id");
    if (id.empty() || id == "0") continue;  // a node of CPUs, or not available to us
    gpus.push_back(gpu_of_node(sources, nodes + "/" + name, static_cast<int>(gpus.size())));
  }
  if (!gpus.empty()) {
    report.drivers.amd = first_line(sources.sys + "/module/amdgpu/version");
    report.drivers.rocm = first_line(sources.rocm + "/.info/version");
    const std::string tool = sys::find_in_path("amd-smi", sources.path);
    if (tool.empty()) {
      report.not_seen.push_back({.what = "gpus.amd-smi", .why = "amd-smi is not installed"});
    } else {
      const std::string driver = ask_amd_smi(tool, sources.deadline, gpus, report.not_seen);
      if (report.drivers.amd.empty()) report.drivers.amd = driver;
    }
  }
  report.gpus.insert(report.gpus.end(), gpus.begin(), gpus.end());
  add_missing(sources, report);
}

}  // namespace muster::facts
