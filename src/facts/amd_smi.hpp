// Reads what amd-smi prints about the GPUs of a host. The parsers are pure and accept any input.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Each function takes the JSON that `amd-smi static`, `metric` or `process` prints with --json, and
// adds its values to the GPUs. `static` identifies GPUs by PCI addresses and maps numbers to these,
// and the others use the numbers. Returns false if the text is not such JSON.
struct AmdNumbers {
  std::vector<std::pair<int, std::string>> pci;  // PCI address of each number that amd-smi uses
  std::string driver = {};
};
[[nodiscard]] bool take_amd_static(std::string_view json, std::span<Gpu> gpus, AmdNumbers& numbers);
[[nodiscard]] bool take_amd_metric(std::string_view json, const AmdNumbers& numbers,
                                   std::span<Gpu> gpus);
[[nodiscard]] bool take_amd_processes(std::string_view json, const AmdNumbers& numbers,
                                      std::span<Gpu> gpus);

// Takes at most one second longer than the deadline. Returns the driver's version if amd-smi
// reports it.
[[nodiscard]] std::string ask_amd_smi(const std::string& tool, std::chrono::milliseconds deadline,
                                      std::span<Gpu> gpus, std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
