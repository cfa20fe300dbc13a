// The GPUs that the ranks of a host can use, according to CUDA_VISIBLE_DEVICES and similar
// variables, MIG and Slurm. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::facts {

// The variables that decide which GPUs a process may use.
[[nodiscard]] std::span<const std::string_view> gpu_variables();

using GpuVariables = std::map<std::string, std::string>;

// What a program counts as one GPU: a whole GPU, or one of its MIG devices.
struct VisibleGpu {
  const Gpu* gpu = nullptr;  // null: named by a UUID that this host does not know
  std::string mig = {};      // UUID of the MIG device; empty: the whole GPU
};

// Returns the GPUs that a program with these variables can use, in the order in which CUDA or HIP
// counts them. If a host has several models, CUDA puts faster GPUs first, which this function
// cannot know.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(std::span<const Gpu> gpus,
                                                   const GpuVariables& variables);

// Returns how many ranks a host gets with one rank per GPU. With Slurm's --gpus-per-task=N there is
// one rank per N GPUs.
[[nodiscard]] int count_gpus(std::span<const Gpu> gpus, const GpuVariables& variables);

// Returns the GPU that a rank uses if it chooses number `local_rank` among the GPUs that it sees.
// `variables` are the rank's own. Null if there is no such GPU, or if it is unknown.
[[nodiscard]] const Gpu* gpu_of_rank(std::span<const Gpu> gpus, const GpuVariables& variables,
                                     int local_rank);

// Returns the value of CUDA_VISIBLE_DEVICES that gives a rank its own MIG device if it sees
// several. It is needed because a CUDA program sees only the first MIG device in the list. Empty if
// no value is needed.
[[nodiscard]] std::string own_device(std::span<const Gpu> gpus, const GpuVariables& variables,
                                     int local_rank);

}  // namespace muster::facts
