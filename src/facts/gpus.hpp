// GPUs, by what their drivers show as files; no driver library is loaded.
#pragma once

#include <string>
#include <vector>

namespace muster::facts {

// One name a GPU: NVIDIA's model, AMD's gfx name.
[[nodiscard]] std::vector<std::string> read_gpus(
    const std::string& nvidia = "/proc/driver/nvidia/gpus",
    const std::string& amd = "/sys/class/kfd/kfd/topology/nodes");

}  // namespace muster::facts
