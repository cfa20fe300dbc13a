// Reads what nvidia-smi prints about the GPUs of a host. The parsers are pure and accept any input.
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

// The fields to ask for. Older drivers know fewer.
[[nodiscard]] SmiFields wanted_fields();

// The field that nvidia-smi rejected with 'Field "x" is not a valid field to query.'; empty if
// none.
[[nodiscard]] std::string refused_field(std::string_view said);

// Removes the rejected field, or replaces it by its older name.
[[nodiscard]] SmiFields without_field(SmiFields fields, const std::string& refused);

struct SmiRow {
  Gpu gpu;
  std::string driver;
};

// Parses the output of --query-gpu with --format=csv,noheader,nounits. Ignores lines with a wrong
// number of values or without a PCI address, which are other messages.
[[nodiscard]] std::vector<SmiRow> parse_smi_rows(const SmiFields& fields, std::string_view out);

// Returns nvidia-smi's messages about GPUs that it cannot reach, by PCI address.
[[nodiscard]] std::map<std::string, std::string> parse_lost_gpus(std::string_view said);

struct SmiProcess {
  std::string pci;
  GpuProcess process;  // without user and command
};
[[nodiscard]] std::vector<SmiProcess> parse_smi_processes(std::string_view out);

// Takes the output of --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure,
// and sets the two values of each GPU.
void take_remapped_rows(std::string_view out, std::span<Gpu> gpus);
// Takes the output of `nvidia-smi nvlink -s`, and counts the links of each GPU that are up or down.
void take_nvlinks(std::string_view out, std::span<Gpu> gpus);
// Takes the output of `nvidia-smi -L`, and adds the MIG devices of each GPU.
void take_mig_devices(std::string_view out, std::span<Gpu> gpus);

struct NvidiaSmi {
  bool answered = false;
  std::vector<Gpu> gpus = {};  // in nvidia-smi's order, only with values that nvidia-smi reports
  std::string driver = {};
  std::map<std::string, std::string> lost = {};  // see parse_lost_gpus
  std::vector<NotSeen> not_seen = {};
};

// May take one or two seconds longer than the deadline.
[[nodiscard]] NvidiaSmi ask_nvidia_smi(const std::string& tool, std::chrono::milliseconds deadline);

}  // namespace muster::facts
