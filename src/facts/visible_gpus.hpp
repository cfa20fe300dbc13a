// Which GPUs the ranks of a host can use: CUDA_VISIBLE_DEVICES and the like, MIG, Slurm. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "facts/gpu.hpp"

namespace muster::facts {

// The variables that say which GPUs a process may use.
[[nodiscard]] std::span<const std::string_view> gpu_variables();

using GpuVariables = std::map<std::string, std::string>;

// What a program counts as one GPU: a GPU, or a MIG device of one.
struct VisibleGpu {
  const Gpu* gpu = nullptr;  // null: named by a UUID that this host could not look up
  std::string mig = {};      // its UUID; empty: the whole GPU
};

// In the order in which CUDA or HIP counts them. CUDA puts faster GPUs first where a host has
// several models, which cannot be known here.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(std::span<const Gpu> gpus,
                                                   const GpuVariables& variables);

// How many ranks a host takes with one rank for each GPU, or for each share that Slurm's
// --gpus-per-task makes.
[[nodiscard]] int count_gpus(std::span<const Gpu> gpus, const GpuVariables& variables);

// The GPU of a rank that takes the LOCAL_RANK-th that it sees. `variables` are the rank's own.
// Null: there is none for it, or it is not known which.
[[nodiscard]] const Gpu* gpu_of_rank(std::span<const Gpu> gpus, const GpuVariables& variables,
                                     int local_rank);

// The value of CUDA_VISIBLE_DEVICES by which a rank that sees several MIG devices gets one of its
// own: a CUDA program sees only the first MIG device that it is given. Empty: it needs none.
[[nodiscard]] std::string own_device(std::span<const Gpu> gpus, const GpuVariables& variables,
                                     int local_rank);

}  // namespace muster::facts
