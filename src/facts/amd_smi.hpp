// What amd-smi tells about the GPUs of a host. The parsers are pure; their input may be anything.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// Each takes the JSON that `amd-smi static`, `metric` or `process` prints with --json, and adds
// what it says to the GPUs. `static` tells them by their PCI addresses, and the others by numbers
// that `static` gave to these addresses. False: this is not such JSON.
struct AmdNumbers {
  std::vector<std::pair<int, std::string>> pci;  // of each of amd-smi's numbers
  std::string driver = {};
};
[[nodiscard]] bool take_amd_static(std::string_view json, std::span<Gpu> gpus, AmdNumbers& numbers);
[[nodiscard]] bool take_amd_metric(std::string_view json, const AmdNumbers& numbers,
                                   std::span<Gpu> gpus);
[[nodiscard]] bool take_amd_processes(std::string_view json, const AmdNumbers& numbers,
                                      std::span<Gpu> gpus);

// Takes at most the deadline and a second. Returns the driver's version, where amd-smi tells it.
[[nodiscard]] std::string ask_amd_smi(const std::string& tool, std::chrono::milliseconds deadline,
                                      std::span<Gpu> gpus, std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
