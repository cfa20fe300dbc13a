#include "checks/gpu_wording.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "checks/wording.hpp"
#include "layout/gpus.hpp"

namespace muster::checks {

std::vector<const facts::Gpu*> gpus_of_ranks(const Scene& scene, const Participant& host) {
  std::vector<const facts::Gpu*> gpus;
  const auto variables = layout::gpu_variables_of_ranks(scene.job, *host.facts);
  for (const facts::VisibleGpu& one : facts::visible_gpus(host.facts->gpus, variables)) {
    if (one.gpu == nullptr) continue;
    if (gpus.empty() || gpus.back() != one.gpu) gpus.push_back(one.gpu);
  }
  return gpus;
}

std::string gpu_name(const facts::Gpu& gpu) {
  if (gpu.index < 0) return fmt::format("GPU at {}", gpu.pci);
  return gpu.pci.empty() ? fmt::format("GPU {}", gpu.index)
                         : fmt::format("GPU {} ({})", gpu.index, gpu.pci);
}

std::string gpus_text(const std::vector<const facts::Gpu*>& gpus,
                      const std::function<std::string(const facts::Gpu&)>& say) {
  std::vector<std::string> texts;
  std::set<std::string> different;
  for (const facts::Gpu* const gpu : gpus) {
    const std::string said = say(*gpu);
    different.insert(said);
    if (!said.empty()) texts.push_back(fmt::format("{}: {}", gpu_name(*gpu), said));
  }
  const bool all_alike = different.size() == 1 && texts.size() > 2;
  return all_alike ? fmt::format("all {} GPUs: {}", texts.size(), *different.begin())
                   : listed(texts);
}

bool wants_gpus(const Scene& scene) {
  return scene.job.ranks_by == "gpu" || scene.job.ranks_by == "auto" ||
         scene.layout.bind_to == layout::kBindToGpu;
}

Severity severity_without_gpus(const Scene& scene) {
  return wants_gpus(scene) ? Severity::kError : Severity::kWarning;
}

}  // namespace muster::checks
