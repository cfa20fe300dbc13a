// Parsers for the output of nvidia-smi.
#include <algorithm>
#include <array>

#include "base/lower_case.hpp"
#include "base/printable.hpp"
#include "facts/nvidia_smi.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::size_t kMostGpus = 256;
constexpr std::size_t kMostProcesses = 1024;
constexpr std::string_view kRemaps = "remapped_rows.";

// False for "[N/A]", "[Not Supported]", "[Unknown Error]" and "N/A".
bool is_value(std::string_view text) {
  return !text.empty() && text.front() != '[' && text != "N/A";
}

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "yes" || word == "enabled" || word == "1") return true;
  if (word == "no" || word == "disabled" || word == "0") return false;
  return std::nullopt;
}

std::int64_t mib(std::string_view text) {
  const auto value = number<std::int64_t>(text);
  return value && *value >= 0 && *value < (std::int64_t{1} << 40) ? *value * kMiB : -1;
}

int small(std::string_view text) {
  const int value = number<int>(text).value_or(0);
  return value > 0 && value <= 64 ? value : 0;
}

std::vector<std::string> throttle_reasons(std::string_view mask) {
  constexpr std::array<const char*, 9> kReasons = {"",  // idle
                                                   "applications_clocks_setting",
                                                   "sw_power_cap",
                                                   "hw_slowdown",
                                                   "sync_boost",
                                                   "sw_thermal_slowdown",
                                                   "hw_thermal_slowdown",
                                                   "hw_power_brake_slowdown",
                                                   "display_clocks_setting"};
  if (mask.starts_with("0x")) mask.remove_prefix(2);
  const std::uint64_t bits = number<std::uint64_t>(mask, 16).value_or(0);
  std::vector<std::string> reasons;
  for (std::size_t i = 1; i < kReasons.size(); ++i) {
    if ((bits >> i & 1) != 0) reasons.emplace_back(kReasons[i]);
  }
  return reasons;
}

using Setter = void (*)(SmiRow& row, std::string_view value);

struct SmiField {
  const char* name;
  Setter set;
  const char* older = nullptr;  // the name before driver 535
};

constexpr SmiField kSmiFields[] = {
    {"pci.bus_id", [](SmiRow& row, std::string_view v) { row.gpu.pci = pci_address(v); }},
    {"index", [](SmiRow& row, std::string_view v) { row.gpu.index = number<int>(v).value_or(-1); }},
    {"name", [](SmiRow& row, std::string_view v) { row.gpu.model = printable(v); }},
    {"uuid", [](SmiRow& row, std::string_view v) { row.gpu.uuid = printable(v); }},
    {"driver_version", [](SmiRow& row, std::string_view v) { row.driver = printable(v); }},
    {"memory.total", [](SmiRow& row, std::string_view v) { row.gpu.memory_bytes = mib(v); }},
    {"memory.used", [](SmiRow& row, std::string_view v) { row.gpu.memory_used_bytes = mib(v); }},
    {"mig.mode.current", [](SmiRow& row, std::string_view v) { row.gpu.mig = yes_or_no(v); }},
    {"persistence_mode",
     [](SmiRow& row, std::string_view v) { row.gpu.persistence = yes_or_no(v); }},
    {"compute_mode", [](SmiRow& row, std::string_view v) { row.gpu.compute_mode = printable(v); }},
    {"ecc.errors.uncorrected.volatile.total",
     [](SmiRow& row, std::string_view v) {
       row.gpu.ecc_uncorrected = number<std::int64_t>(v).value_or(-1);
     }},
    {"retired_pages.pending",
     [](SmiRow& row, std::string_view v) { row.gpu.retired_pages_pending = yes_or_no(v); }},
    {"remapped_rows.pending",
     [](SmiRow& row, std::string_view v) { row.gpu.remap_pending = yes_or_no(v); }},
    {"remapped_rows.failure",
     [](SmiRow& row, std::string_view v) { row.gpu.remap_failed = yes_or_no(v); }},
    {"clocks_event_reasons.active",
     [](SmiRow& row, std::string_view v) { row.gpu.throttled_by = throttle_reasons(v); },
     "clocks_throttle_reasons.active"},
    {"pcie.link.gen.max", [](SmiRow& row, std::string_view v) { row.gpu.pcie_gen_max = small(v); }},
    {"pcie.link.width.current",
     [](SmiRow& row, std::string_view v) { row.gpu.pcie_width = small(v); }},
    {"pcie.link.width.max",
     [](SmiRow& row, std::string_view v) { row.gpu.pcie_width_max = small(v); }},
    {"fabric.state", [](SmiRow& row, std::string_view v) { row.gpu.fabric_state = printable(v); }},
};

const SmiField* field_named(std::string_view name) {
  for (const SmiField& field : kSmiFields) {
    if (name == field.name || (field.older != nullptr && name == field.older)) return &field;
  }
  return nullptr;
}

Gpu* gpu_at(std::span<Gpu> gpus, std::string_view pci) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.pci == pci; });
  return found == gpus.end() || pci.empty() ? nullptr : &*found;
}

// The X in "(UUID: X)".
std::string uuid_in(std::string_view line) {
  constexpr std::string_view kBefore = "(UUID: ";
  const std::size_t at = line.rfind(kBefore);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + kBefore.size());
  return printable(line.substr(0, line.find(')')));
}

// Returns the GPU that a heading such as "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)" names, null
// if it is unknown, and `current` for any other line.
Gpu* gpu_of_heading(std::string_view line, std::span<Gpu> gpus, Gpu* current) {
  if (!line.starts_with("GPU ")) return current;
  const std::string uuid = uuid_in(line);
  const auto found = std::find_if(
      gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return !uuid.empty() && gpu.uuid == uuid; });
  return found == gpus.end() ? nullptr : &*found;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells = split(line, ',');
  for (std::string_view& cell : cells) cell = trimmed(cell);
  return cells;
}

}  // namespace

SmiFields wanted_fields() {
  SmiFields names;
  for (const SmiField& field : kSmiFields) names.emplace_back(field.name);
  return names;
}

std::string refused_field(std::string_view said) {
  constexpr std::string_view kBefore = "Field \"";
  constexpr std::string_view kAfter = "\" is not a valid field to query";
  const std::size_t end = said.find(kAfter);
  const std::size_t start = said.rfind(kBefore, end);
  if (end == std::string_view::npos || start == std::string_view::npos) return {};
  const std::size_t name = start + kBefore.size();
  return name > end ? std::string() : std::string(said.substr(name, end - name));
}

SmiFields without_field(SmiFields fields, const std::string& refused) {
  const auto found = std::find(fields.begin(), fields.end(), refused);
  if (found == fields.end()) return fields;
  const SmiField* const field = field_named(refused);
  if (field != nullptr && field->older != nullptr && refused == field->name) {
    *found = field->older;
  } else if (refused.starts_with(kRemaps)) {  // a driver knows all of these or none
    std::erase_if(fields, [](const std::string& name) { return name.starts_with(kRemaps); });
  } else {
    fields.erase(found);
  }
  return fields;
}

std::vector<SmiRow> parse_smi_rows(const SmiFields& fields, std::string_view out) {
  std::vector<SmiRow> rows;
  for (const std::string_view line : split(out, '\n')) {
    const auto cells = cells_of(line);
    if (cells.size() != fields.size() || rows.size() == kMostGpus) continue;
    SmiRow row;
    row.gpu.vendor = "NVIDIA";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const SmiField* const field = field_named(fields[i]);
      if (field != nullptr && is_value(cells[i])) field->set(row, cells[i]);
    }
    if (!row.gpu.pci.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::map<std::string, std::string> parse_lost_gpus(std::string_view said) {
  std::map<std::string, std::string> lost;
  for (const std::string_view line : split(said, '\n')) {
    if (line.find("Unable to determine the device handle for") == std::string_view::npos) continue;
    const std::string pci = pci_address(line);
    if (pci.empty() || lost.size() == kMostGpus) continue;
    const std::size_t colon = line.rfind(": ");
    lost[pci] = printable(trimmed(line.substr(colon == std::string_view::npos ? 0 : colon + 2)));
  }
  return lost;
}

std::vector<SmiProcess> parse_smi_processes(std::string_view out) {
  std::vector<SmiProcess> processes;
  for (const std::string_view line : split(out, '\n')) {
    const auto cells = cells_of(line);
    if (cells.size() != 3 || processes.size() == kMostProcesses) continue;
    const std::string pci = pci_address(cells[0]);
    const int pid = number<int>(cells[1]).value_or(0);
    if (pci.empty() || pid <= 0) continue;
    processes.push_back({.pci = pci, .process = {.pid = pid, .memory_bytes = mib(cells[2])}});
  }
  return processes;
}

void take_remapped_rows(std::string_view out, std::span<Gpu> gpus) {
  for (const std::string_view line : split(out, '\n')) {
    const auto cells = cells_of(line);
    Gpu* const gpu = cells.size() == 3 ? gpu_at(gpus, pci_address(cells[0])) : nullptr;
    if (gpu == nullptr) continue;
    gpu->remap_pending = yes_or_no(cells[1]);
    gpu->remap_failed = yes_or_no(cells[2]);
  }
}

void take_nvlinks(std::string_view out, std::span<Gpu> gpus) {
  Gpu* gpu = nullptr;
  for (const std::string_view whole : split(out, '\n')) {
    const std::string_view line = trimmed(whole);
    gpu = gpu_of_heading(line, gpus, gpu);
    if (gpu == nullptr || !line.starts_with("Link ")) continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    gpu->nvlinks_up = std::max(gpu->nvlinks_up, 0);
    gpu->nvlinks_down = std::max(gpu->nvlinks_down, 0);
    ++(line.find("inactive") == std::string_view::npos ? gpu->nvlinks_up : gpu->nvlinks_down);
  }
}

void take_mig_devices(std::string_view out, std::span<Gpu> gpus) {
  Gpu* gpu = nullptr;
  for (const std::string_view whole : split(out, '\n')) {
    const std::string_view line = trimmed(whole);
    gpu = gpu_of_heading(line, gpus, gpu);
    const auto parts = words(line);
    if (gpu == nullptr || parts.size() < 3 || parts[0] != "MIG") continue;
    const std::string uuid = uuid_in(line);
    if (uuid.empty() || gpu->mig_devices.size() == kMostGpus) continue;
    gpu->mig_devices.push_back({.profile = printable(parts[1]), .uuid = uuid});
  }
}

}  // namespace muster::facts
