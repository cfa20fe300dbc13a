#include "facts/visible_gpus.hpp"

#include <algorithm>
#include <array>

#include "base/lower_case.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::array<std::string_view, 8> kGpuVariables = {
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_GPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE",   "SLURM_JOB_GPUS",      "SLURM_STEP_GPUS",      "SLURM_TRES_PER_TASK"};

constexpr std::size_t kMostMigDevices = 7;  // per GPU

using Visible = std::vector<VisibleGpu>;

const std::string* value_of_variable(const GpuVariables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

// Everything that programs could use. For a GPU in MIG mode, that is its MIG devices.
Visible all_of(std::span<const Gpu> gpus, std::string_view vendor) {
  Visible all;
  for (const Gpu& gpu : gpus) {
    if (gpu.vendor != vendor || !gpu.problem.empty()) continue;
    if (!gpu.mig.value_or(false)) all.push_back({.gpu = &gpu});
    for (const MigDevice& device : gpu.mig_devices) {
      all.push_back({.gpu = &gpu, .mig = device.uuid});
    }
  }
  return all;
}

// Finds a GPU by its number, or a MIG device by "GPU:MIG".
const VisibleGpu* by_number(const Visible& all, std::string_view entry) {
  const std::size_t colon = entry.find(':');
  const auto wanted = number<std::size_t>(entry.substr(0, colon));
  auto skipped = colon == std::string_view::npos ? std::optional<std::size_t>(0)
                                                 : number<std::size_t>(entry.substr(colon + 1));
  if (!wanted || !skipped) return nullptr;
  std::size_t count = 0;
  const Gpu* last = nullptr;
  for (const VisibleGpu& one : all) {
    const bool is_of_last = !one.mig.empty() && one.gpu == last;
    if (!is_of_last) ++count;
    last = one.gpu;
    if (count == *wanted + 1 && (*skipped)-- == 0) return &one;
  }
  return nullptr;
}

// Finds a GPU or MIG device by a UUID, which may be shortened.
const VisibleGpu* by_name(const Visible& all, std::string_view entry) {
  const std::string wanted = lower_case(entry);
  for (const VisibleGpu& one : all) {
    if (one.gpu == nullptr) continue;
    const std::string own = lower_case(one.mig.empty() ? one.gpu->uuid : one.mig);
    if (own.starts_with(wanted)) return &one;
    // Older drivers call MIG devices "MIG-GPU-UUID/1/0".
    const bool of_gpu = !one.mig.empty() && !one.gpu->uuid.empty() &&
                        wanted.find(lower_case(one.gpu->uuid)) != std::string::npos;
    if (of_gpu || lower_case(one.gpu->uuid).starts_with(wanted)) return &one;
  }
  return nullptr;
}

// Whether an unknown name may still belong to one of these GPUs. If nvidia-smi did not answer, only
// the driver's files are known, which do not always contain UUIDs and never MIG devices.
bool may_be_unknown(const Visible& all, std::string_view name) {
  const bool is_mig = name.starts_with("MIG-");
  return std::any_of(all.begin(), all.end(), [&](const VisibleGpu& one) {
    if (one.gpu == nullptr) return true;
    return is_mig ? one.mig.empty() && !one.gpu->mig : one.gpu->uuid.empty();
  });
}

// Selects GPUs as CUDA does: the first entry that is not a GPU ends the list.
Visible selected(const Visible& all, const std::string* list) {
  if (list == nullptr) return all;
  const std::size_t most = kMostMigDevices * all.size();
  Visible chosen;
  for (const std::string_view part : split(*list, ',')) {
    const std::string_view entry = trimmed(part);
    const bool is_name = entry.starts_with("GPU-") || entry.starts_with("MIG-");
    const VisibleGpu* const found = is_name ? by_name(all, entry) : by_number(all, entry);
    const bool is_unknown = found == nullptr && is_name && may_be_unknown(all, entry);
    if ((found == nullptr && !is_unknown) || chosen.size() == most) break;
    chosen.push_back(is_unknown ? VisibleGpu{} : *found);
  }
  return chosen;
}

int listed_count(const std::string* list) {
  return list == nullptr || trimmed(*list).empty() ? 0 : static_cast<int>(split(*list, ',').size());
}

// How many GPUs Slurm gives to each task; 0 if it does not divide them.
int gpus_per_task(const GpuVariables& variables) {
  const std::string* text = value_of_variable(variables, "SLURM_GPUS_PER_TASK");
  std::string_view value = text == nullptr ? std::string_view() : *text;  // "2" or "a100:2"
  if (text == nullptr) {
    text = value_of_variable(variables, "SLURM_TRES_PER_TASK");  // "cpu=4,gres/gpu=1"
    const std::size_t at = text == nullptr ? std::string::npos : text->find("gres/gpu");
    if (at == std::string::npos) return 0;
    value = std::string_view(*text).substr(at);
    value = value.substr(0, value.find(','));
  }
  value.remove_prefix(std::min(value.find_last_of(":=") + 1, value.size()));
  return std::clamp(number<int>(value).value_or(0), 0, 1024);
}

}  // namespace

std::span<const std::string_view> gpu_variables() {
  return kGpuVariables;
}

Visible visible_gpus(std::span<const Gpu> gpus, const GpuVariables& variables) {
  const std::string* const cuda = value_of_variable(variables, "CUDA_VISIBLE_DEVICES");
  const std::string* const hip = value_of_variable(variables, "HIP_VISIBLE_DEVICES");
  Visible visible = selected(all_of(gpus, "NVIDIA"), cuda);
  const Visible amd =
      selected(all_of(gpus, "AMD"), value_of_variable(variables, "ROCR_VISIBLE_DEVICES"));
  const Visible chosen = selected(amd, hip == nullptr ? cuda : hip);
  visible.insert(visible.end(), chosen.begin(), chosen.end());
  return visible;
}

int count_gpus(std::span<const Gpu> gpus, const GpuVariables& variables) {
  const int job = listed_count(value_of_variable(variables, "SLURM_JOB_GPUS"));
  const int step = listed_count(value_of_variable(variables, "SLURM_STEP_GPUS"));
  const std::string* const on_node = value_of_variable(variables, "SLURM_GPUS_ON_NODE");
  const int node = on_node == nullptr ? 0 : number<int>(*on_node).value_or(0);
  const int visible = static_cast<int>(visible_gpus(gpus, variables).size());
  if (const int each = gpus_per_task(variables); each > 0 && !gpus.empty()) {
    // Each task, including this one, sees only its own GPUs.
    return std::max({job, step, node, visible}) / each;
  }
  if (variables.contains("CUDA_VISIBLE_DEVICES")) return visible;
  const int granted = step > 0 ? step : job > 0 ? job : node;
  return granted > 0 ? std::min(visible, granted) : visible;
}

const Gpu* gpu_of_rank(std::span<const Gpu> gpus, const GpuVariables& variables, int local_rank) {
  const Visible visible = visible_gpus(gpus, variables);
  auto wanted = static_cast<std::size_t>(std::max(local_rank, 0));
  const auto each = static_cast<std::size_t>(gpus_per_task(variables));
  if (each > 0 && visible.size() <= each) {  // each task counts its GPUs from 0
    const Visible all = visible_gpus(gpus, {});
    return wanted * each < all.size() ? all[wanted * each].gpu : nullptr;
  }
  // A wrapper gave each rank its own GPU, or all ranks share one.
  if (visible.size() == 1) wanted = 0;
  return wanted < visible.size() ? visible[wanted].gpu : nullptr;
}

std::string own_device(std::span<const Gpu> gpus, const GpuVariables& variables, int local_rank) {
  const Visible visible = visible_gpus(gpus, variables);
  const bool has_mig = std::any_of(visible.begin(), visible.end(),
                                   [](const VisibleGpu& one) { return !one.mig.empty(); });
  const auto wanted = static_cast<std::size_t>(std::max(local_rank, 0));
  if (!has_mig || visible.size() < 2 || wanted >= visible.size()) return {};
  if (gpus_per_task(variables) > 0) return {};  // Slurm assigns them
  const VisibleGpu& own = visible[wanted];
  if (!own.mig.empty()) return own.mig;
  return own.gpu == nullptr ? std::string() : own.gpu->uuid;
}

}  // namespace muster::facts
