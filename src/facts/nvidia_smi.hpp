// What nvidia-smi tells about the GPUs of a host. The parsers are pure; their input may be
// anything.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

using SmiFields = std::vector<std::string>;

// The fields to ask for; an older driver knows fewer.
[[nodiscard]] SmiFields wanted_fields();

// The field that nvidia-smi does not know: 'Field "x" is not a valid field to query.' Empty: none.
[[nodiscard]] std::string refused_field(std::string_view said);

// Without the refused field, or with its older name in its place.
[[nodiscard]] SmiFields without_field(SmiFields fields, const std::string& refused);

struct SmiRow {
  Gpu gpu;
  std::string driver;
};

// Lines of --query-gpu with --format=csv,noheader,nounits. A line with another number of values, or
// without a PCI address, is something else that nvidia-smi said.
[[nodiscard]] std::vector<SmiRow> parse_smi_rows(const SmiFields& fields, std::string_view out);

// GPUs that nvidia-smi names as unreachable, by PCI address, with what it says about them.
[[nodiscard]] std::map<std::string, std::string> parse_lost_gpus(std::string_view said);

struct SmiProcess {
  std::string pci;
  GpuProcess process;  // without user and command
};
[[nodiscard]] std::vector<SmiProcess> parse_smi_processes(std::string_view out);

// Lines of --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure.
void take_remapped_rows(std::string_view out, std::span<Gpu> gpus);
// `nvidia-smi nvlink -s`: links of each GPU, up and down.
void take_nvlinks(std::string_view out, std::span<Gpu> gpus);
// `nvidia-smi -L`: the MIG devices of each GPU.
void take_mig_devices(std::string_view out, std::span<Gpu> gpus);

struct NvidiaSmi {
  bool answered = false;
  std::vector<Gpu> gpus = {};  // in nvidia-smi's order, with what only nvidia-smi knows
  std::string driver = {};
  std::map<std::string, std::string> lost = {};  // as parse_lost_gpus
  std::vector<NotSeen> not_seen = {};
};

// Takes at most the deadline and a second or two.
[[nodiscard]] NvidiaSmi ask_nvidia_smi(const std::string& tool, std::chrono::milliseconds deadline);

}  // namespace muster::facts
