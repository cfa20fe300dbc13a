#include <algorithm>
#include <cerrno>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/gpu_vendors.hpp"
#include "facts/nvidia_smi.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/xids.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

constexpr std::string_view kNvidia = "0x10de";

bool is_display(const PciDevice& device) {
  return device.device_class.starts_with("0x03");
}

// NVSwitches appear as bridges of an unspecified kind.
bool is_nvswitch(const PciDevice& device) {
  return device.device_class.starts_with("0x0680");
}

// The value of a field in /proc/driver/nvidia/gpus/ADDRESS/information.
std::string information(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name)) return printable(trimmed(line.substr(name.size())));
  }
  return {};
}

struct DriversGpu {
  Gpu gpu;
  std::string minor;  // the N of /dev/nvidiaN
};

std::vector<DriversGpu> gpus_of_driver(const GpuSources& sources) {
  const std::string folder = sources.proc + "/driver/nvidia/gpus";
  std::vector<DriversGpu> gpus;
  for (const std::string& name : names_in(folder)) {
    const std::string text = read_start(folder + "/" + name + "/information").value_or("");
    std::string model = information(text, "Model:");
    if (model.empty()) model = "NVIDIA GPU";
    const std::string pci = pci_address(name);
    std::string uuid = information(text, "GPU UUID:");
    if (uuid.find('?') != std::string::npos) uuid.clear();  // the driver has not read it yet
    gpus.push_back({.gpu = {.vendor = "NVIDIA",
                            .model = std::move(model),
                            .pci = pci.empty() ? name : pci,
                            .uuid = std::move(uuid)},
                    .minor = information(text, "Device Minor:")});
  }
  // The names are hexadecimal, so names_in does not sort them correctly.
  std::sort(gpus.begin(), gpus.end(),
            [](const DriversGpu& one, const DriversGpu& two) { return one.gpu.pci < two.gpu.pci; });
  return gpus;
}

// The device files of the GPUs. They decide which GPUs a container or a Slurm step may use, while
// the driver lists all GPUs.
class DeviceFiles {
 public:
  DeviceFiles(const GpuSources& sources, const std::vector<DriversGpu>& gpus)
      : folder_(sources.dev) {
    for (const DriversGpu& one : gpus) any_ = any_ || exists(one.minor);
  }

  [[nodiscard]] bool any() const { return any_; }

  // Whether the GPU belongs to another job, or was not given to this container. Opening the file of
  // a faulty GPU can block forever, so `may_open` must only be set for GPUs that nvidia-smi has
  // just skipped without blocking.
  [[nodiscard]] bool withhold(const std::string& minor, bool may_open) const {
    if (!any_ || minor.empty()) return false;
    if (!exists(minor)) return true;
    if (!may_open) return false;
    const sys::Fd fd(::open(file(minor).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return !fd.valid() && (errno == EPERM || errno == EACCES);
  }

 private:
  [[nodiscard]] std::string file(const std::string& minor) const {
    return folder_ + "/nvidia" + minor;
  }
  [[nodiscard]] bool exists(const std::string& minor) const {
    return !minor.empty() && ::access(file(minor).c_str(), F_OK) == 0;
  }

  std::string folder_;
  bool any_ = false;
};

const Gpu* answer_about(const NvidiaSmi& smi, const std::string& pci) {
  const auto found = std::find_if(smi.gpus.begin(), smi.gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.pci == pci; });
  return found == smi.gpus.end() ? nullptr : &*found;
}

// Combines the values of nvidia-smi with those that only /sys has.
Gpu combined(const GpuSources& sources, const Gpu& driver, const Gpu* smi) {
  Gpu gpu = smi == nullptr ? driver : *smi;
  if (gpu.model.empty()) gpu.model = driver.model;
  if (gpu.uuid.empty()) gpu.uuid = driver.uuid;
  Gpu place = gpu;
  read_pci(sources.sys + "/bus/pci/devices", place);
  gpu.numa_node = place.numa_node;
  gpu.cpus = place.cpus;
  if (gpu.pcie_width == 0) gpu.pcie_width = place.pcie_width;
  // nvidia-smi may report what the GPU could do in another slot.
  if (gpu.pcie_width_max == 0 ||
      (place.pcie_width_max > 0 && place.pcie_width_max < gpu.pcie_width_max))
    gpu.pcie_width_max = place.pcie_width_max;
  if (gpu.pcie_gen_max == 0) gpu.pcie_gen_max = place.pcie_gen_max;
  return gpu;
}

std::string problem_of(const Gpu& gpu, const NvidiaSmi& smi) {
  if (const auto lost = smi.lost.find(gpu.pci); lost != smi.lost.end()) {
    return "nvidia-smi: " + lost->second;
  }
  const bool complete = smi.answered && smi.not_seen.empty();
  return complete ? "it is on the PCI bus, but nvidia-smi does not list it" : "";
}

// Adds GPUs on the PCI bus that the NVIDIA driver does not use. Leaves out those with another
// driver (for a virtual machine, or nouveau), which are not meant for CUDA. With `may_be_withheld`,
// also leaves out those with the NVIDIA driver, because in a container the driver's folder lacks
// the GPUs of other containers.
void add_untaken(const GpuSources& sources, const std::vector<PciDevice>& devices,
                 const std::set<std::string>& taken, bool may_be_withheld, GpuReport& report) {
  for (const PciDevice& device : devices) {
    const bool known = taken.contains(device.address);
    const bool of_others = !device.driver.empty() && device.driver != "nvidia";
    if (!is_display(device) || known || of_others) continue;
    if (may_be_withheld && device.driver == "nvidia") continue;
    Gpu gpu{.index = -1, .vendor = "NVIDIA", .model = "NVIDIA GPU", .pci = device.address};
    gpu.problem = report.drivers.nvidia.empty()
                      ? "the NVIDIA driver is not loaded"
                      : "it is on the PCI bus, but the NVIDIA driver does not have it";
    read_pci(sources.sys + "/bus/pci/devices", gpu);
    report.gpus.push_back(std::move(gpu));
  }
}

// Whether the fabric manager of NVSwitches runs; nothing if that cannot be seen.
std::optional<bool> fabric_manager_runs(const GpuSources& sources) {
  for (const std::string& name : names_in(sources.proc)) {
    if (!number<int>(name)) continue;
    // The kernel shortens names to 15 characters.
    if (first_line(sources.proc + "/" + name + "/comm").starts_with("nv-fabricmanage")) return true;
  }
  // If /proc is mounted with hidepid, users do not see root's processes.
  const bool sees_all = !first_line(sources.proc + "/1/comm").empty();
  return sources.in_container || !sees_all ? std::nullopt : std::optional(false);
}

void add_xids(const GpuSources& sources, GpuReport& report) {
  const auto xids = read_xids(sources.dev + "/kmsg", sys::find_in_path("journalctl", sources.path),
                              sources.deadline / 4);
  if (!xids) {
    report.not_seen.push_back({.what = "gpus.xids", .why = to_text(xids.error())});
    return;
  }
  for (Gpu& gpu : report.gpus) {
    if (const auto found = xids->find(gpu.pci); found != xids->end()) gpu.xids = found->second;
  }
}

NvidiaSmi ask_if_installed(const GpuSources& sources, bool driver_is_there) {
  NvidiaSmi smi;
  if (!driver_is_there) return smi;
  const std::string tool = sys::find_in_path("nvidia-smi", sources.path);
  if (!tool.empty()) return ask_nvidia_smi(tool, sources.deadline);
  smi.not_seen.push_back({.what = "gpus.nvidia-smi", .why = "nvidia-smi is not installed"});
  return smi;
}

void add_driver(const GpuSources& sources, const NvidiaSmi& smi, GpuDrivers& drivers) {
  drivers.nvidia =
      nvidia_driver_version(read_start(sources.proc + "/driver/nvidia/version").value_or(""));
  if (drivers.nvidia.empty()) drivers.nvidia = smi.driver;
  drivers.cuda = cuda_of_driver(drivers.nvidia);
}

}  // namespace

void read_nvidia_gpus(const GpuSources& sources, GpuReport& report) {
  const auto devices = pci_devices(sources.sys + "/bus/pci/devices", kNvidia);
  const std::vector<DriversGpu> of_driver = gpus_of_driver(sources);
  const bool on_bus = std::any_of(devices.begin(), devices.end(), is_display);
  if (!on_bus && of_driver.empty()) return;
  const bool loaded =
      !of_driver.empty() || read_start(sources.proc + "/driver/nvidia/version").has_value();
  const NvidiaSmi smi = ask_if_installed(sources, loaded);
  add_driver(sources, smi, report.drivers);
  const DeviceFiles files(sources, of_driver);
  int index = 0;
  std::set<std::string> taken;
  for (const DriversGpu& one : of_driver) {
    taken.insert(one.gpu.pci);
    const Gpu* const answer = answer_about(smi, one.gpu.pci);
    if (answer == nullptr && files.withhold(one.minor, smi.answered)) continue;
    // A container without GPUs still sees the driver's files.
    if (!smi.answered && !files.any() && sources.in_container) continue;
    Gpu gpu = combined(sources, one.gpu, answer);
    if (answer == nullptr) gpu.problem = problem_of(gpu, smi);
    gpu.index = gpu.problem.empty() ? index++ : -1;
    report.gpus.push_back(std::move(gpu));
  }
  for (const Gpu& gpu : smi.gpus) {  // for systems that hide /proc/driver
    if (!taken.insert(gpu.pci).second) continue;
    report.gpus.push_back(combined(sources, gpu, &gpu));
    report.gpus.back().index = index++;
  }
  add_untaken(sources, devices, taken, files.any() || sources.in_container, report);
  report.not_seen.insert(report.not_seen.end(), smi.not_seen.begin(), smi.not_seen.end());
  report.drivers.nvswitches =
      static_cast<int>(std::count_if(devices.begin(), devices.end(), is_nvswitch));
  if (report.drivers.nvswitches > 0) report.drivers.fabric_manager = fabric_manager_runs(sources);
  if (loaded) add_xids(sources, report);
}

}  // namespace muster::facts
