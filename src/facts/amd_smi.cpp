#include "facts/amd_smi.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/vendor_tool.hpp"

namespace muster::facts {
namespace {

using Json = nlohmann::json;

// The object or value with that name, or null if there is none.
const Json& at(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::string text_of(const Json& json) {
  if (!json.is_string()) return {};
  std::string text = printable(json.get_ref<const std::string&>());
  return text == "N/A" ? std::string() : text;
}

// Reads 16, "16" or {"value": 16, "unit": "..."}. Returns -1 for "N/A" and everything else.
std::int64_t amount(const Json& json) {
  if (json.is_object()) return amount(at(json, "value"));
  if (json.is_number_unsigned()) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(json.get<std::uint64_t>(), std::uint64_t{1} << 62));
  }
  if (json.is_number_float()) {
    const double value = json.get<double>();
    return value >= 0 && value < 1e18 ? static_cast<std::int64_t>(value) : -1;
  }
  if (!json.is_string()) return -1;
  const auto parts = words(json.get_ref<const std::string&>());
  return parts.empty() ? -1 : number<std::int64_t>(parts[0]).value_or(-1);
}

std::int64_t bytes_of(const Json& json) {
  const std::int64_t value = amount(json);
  std::string unit = text_of(at(json, "unit"));
  if (unit.empty()) unit = "MB";
  const int shift = unit == "B"    ? 0
                    : unit == "KB" ? 10
                    : unit == "MB" ? 20
                    : unit == "GB" ? 30
                                   : -1;
  if (shift < 0 || value < 0 || value >= (std::int64_t{1} << (62 - shift))) return -1;
  return value << shift;
}

int lanes_of(const Json& json) {
  const std::int64_t width = amount(json);
  return width >= 1 && width <= 32 ? static_cast<int>(width) : 0;
}

// In newer releases, the list is inside an object.
const Json& list_of_gpus(const Json& json) {
  return json.is_object() ? at(json, "gpu_data") : json;
}

Gpu* gpu_at_address(std::span<Gpu> gpus, const std::string& pci) {
  // The partitions of a GPU have addresses that differ only in the function, and amd-smi gives the
  // first.
  const auto same = [&](const Gpu& gpu) { return !pci.empty() && gpu.pci == pci; };
  const auto found = std::find_if(gpus.begin(), gpus.end(), same);
  return found == gpus.end() ? nullptr : &*found;
}

Gpu* gpu_numbered(const Json& entry, const AmdNumbers& numbers, std::span<Gpu> gpus) {
  const std::int64_t wanted = amount(at(entry, "gpu"));
  for (const auto& [value, pci] : numbers.pci) {
    if (value == wanted) return gpu_at_address(gpus, pci);
  }
  return nullptr;
}

void take_throttling(const Json& throttle, Gpu& gpu) {
  if (!throttle.is_object()) return;
  constexpr const char* kStates[] = {"prochot_violation_status", "ppt_violation_status",
                                     "socket_thermal_violation_status",
                                     "vr_thermal_violation_status", "hbm_thermal_violation_status"};
  for (const char* state : kStates) {
    if (text_of(at(throttle, state)) == "ACTIVE") {
      const std::string_view name = state;
      gpu.throttled_by.emplace_back(name.substr(0, name.rfind("_violation_status")));
    }
  }
}

template <class Take>
bool for_each_entry(std::string_view text, const Take& take) {
  const auto json = parse_json(text);
  if (!json || !list_of_gpus(*json).is_array()) return false;
  for (const Json& entry : list_of_gpus(*json)) take(entry);
  return true;
}

}  // namespace

bool take_amd_static(std::string_view json, std::span<Gpu> gpus, AmdNumbers& numbers) {
  return for_each_entry(json, [&](const Json& entry) {
    const Json& bus = at(entry, "bus");
    const std::string pci = pci_address(text_of(at(bus, "bdf")));
    numbers.pci.emplace_back(
        static_cast<int>(std::min<std::int64_t>(amount(at(entry, "gpu")), std::int64_t{1} << 20)),
        pci);
    const Json& driver = at(entry, "driver");
    if (numbers.driver.empty()) numbers.driver = text_of(at(driver, "version"));
    if (numbers.driver.empty()) numbers.driver = text_of(at(driver, "driver_version"));
    Gpu* const gpu = gpu_at_address(gpus, pci);
    if (gpu == nullptr) return;
    if (const std::string name = text_of(at(at(entry, "asic"), "market_name")); !name.empty()) {
      gpu->model = name;
    }
    if (const int width = lanes_of(at(bus, "max_pcie_width"));
        width > 0 && gpu->pcie_width_max == 0)
      gpu->pcie_width_max = width;
    if (const std::int64_t size = bytes_of(at(at(entry, "vram"), "size")); size > 0) {
      gpu->memory_bytes = size;
    }
  });
}

bool take_amd_metric(std::string_view json, const AmdNumbers& numbers, std::span<Gpu> gpus) {
  return for_each_entry(json, [&](const Json& entry) {
    Gpu* const gpu = gpu_numbered(entry, numbers, gpus);
    if (gpu == nullptr) return;
    gpu->ecc_uncorrected = amount(at(at(entry, "ecc"), "total_uncorrectable_count"));
    if (gpu->pcie_width == 0) gpu->pcie_width = lanes_of(at(at(entry, "pcie"), "width"));
    gpu->memory_used_bytes = bytes_of(at(at(entry, "mem_usage"), "used_vram"));
    take_throttling(at(entry, "throttle"), *gpu);
  });
}

bool take_amd_processes(std::string_view json, const AmdNumbers& numbers, std::span<Gpu> gpus) {
  constexpr std::size_t kMost = 1024;
  return for_each_entry(json, [&](const Json& entry) {
    Gpu* const gpu = gpu_numbered(entry, numbers, gpus);
    const Json& list = at(entry, "process_list");
    if (gpu == nullptr || !list.is_array()) return;
    for (const Json& one : list) {
      const Json& process = at(one, "process_info");  // text if there are no processes
      const std::int64_t pid = amount(at(process, "pid"));
      if (pid <= 0 || pid > (std::int64_t{1} << 30) || gpu->processes.size() == kMost) continue;
      gpu->processes.push_back(
          {.pid = static_cast<int>(pid),
           .memory_bytes = bytes_of(at(at(process, "memory_usage"), "vram_mem"))});
    }
  });
}

std::string ask_amd_smi(const std::string& tool, std::chrono::milliseconds deadline,
                        std::span<Gpu> gpus, std::vector<NotSeen>& not_seen) {
  const ToolArguments questions[] = {
      {"static", "--json"}, {"metric", "--json"}, {"process", "--json"}};
  const auto answers = ask_tool(tool, questions, deadline);
  AmdNumbers numbers;
  const auto take = [&](std::size_t i, const char* what, const auto& parse) {
    std::string why = tool_failure("amd-smi", answers[i], deadline);
    if (why.empty() && !parse(answers[i]->out)) why = "amd-smi did not print JSON";
    if (!why.empty()) not_seen.push_back({.what = what, .why = why});
    return why.empty();
  };
  const bool known = take(0, "gpus.amd-smi", [&](const std::string& out) {
    return take_amd_static(out, gpus, numbers);
  });
  if (!known) return {};
  (void)take(1, "gpus.health",
             [&](const std::string& out) { return take_amd_metric(out, numbers, gpus); });
  (void)take(2, "gpus.processes",
             [&](const std::string& out) { return take_amd_processes(out, numbers, gpus); });
  return numbers.driver;
}

}  // namespace muster::facts
