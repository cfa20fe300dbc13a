// Reads what amd-smi prints about the GPUs of a host. The parsers are pure and accept any input.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Each of the three take_amd functions takes the JSON that `amd-smi static`, `metric` or `process`
// prints with --json, and adds the values in it to `gpus`. `amd-smi static` prints a number and a
// PCI address for each GPU; the other two name GPUs only by number. The functions return false if
// the text is not such JSON.
struct AmdNumbers {
  std::vector<std::pair<int, std::string>> pci;  // PCI address of each number that amd-smi uses
  std::string driver = {};
};
[[nodiscard]] bool take_amd_static(std::string_view json, std::span<Gpu> gpus, AmdNumbers& numbers);
[[nodiscard]] bool take_amd_metric(std::string_view json, const AmdNumbers& numbers,
                                   std::span<Gpu> gpus);
[[nodiscard]] bool take_amd_processes(std::string_view json, const AmdNumbers& numbers,
                                      std::span<Gpu> gpus);

// Runs amd-smi and adds what it reports to `gpus`. Takes at most one second longer than the
// deadline. Returns the driver's version; empty if amd-smi does not report it.
[[nodiscard]] std::string ask_amd_smi(const std::string& tool, std::chrono::milliseconds deadline,
                                      std::span<Gpu> gpus, std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
