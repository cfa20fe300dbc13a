// GPUs that differ from those of the other hosts. Different GPUs work together; the slower ones set
// the pace.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "checks/gpu_wording.hpp"
#include "checks/host_groups.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "layout/gpus.hpp"

namespace muster::checks {
namespace {

using facts::Gpu;

struct GpuHost {
  Participant host;
  std::vector<const Gpu*> gpus;
  std::string text;  // "8 x NVIDIA H100 80GB HBM3"
};

std::string inventory(const std::vector<const Gpu*>& gpus) {
  std::map<std::string, int> counts;
  for (const Gpu* const gpu : gpus) ++counts[gpu->model];
  std::vector<std::string> texts;
  for (const auto& [model, count] : counts) texts.push_back(fmt::format("{} x {}", count, model));
  return texts.empty() ? "no GPU" : listed(texts);
}

std::vector<GpuHost> hosts_with_gpus(const Scene& scene) {
  std::vector<GpuHost> hosts;
  for (const Participant& host : participants(scene)) {
    GpuHost one{.host = host, .gpus = gpus_of_ranks(scene, host)};
    one.text = inventory(one.gpus);
    hosts.push_back(std::move(one));
  }
  return hosts;
}

// Ranks that take the LOCAL_RANK-th GPU find none.
std::string short_of_gpus(const GpuHost& host) {
  const auto gpus = static_cast<int>(host.gpus.size());
  const int ranks = host.host.placement->ranks;
  return gpus > 0 && ranks > gpus ? fmt::format("; {} ranks are to run there", ranks) : "";
}

Findings odd_inventories(const std::vector<GpuHost>& hosts) {
  HostGroups groups;
  for (const GpuHost& host : hosts) groups.add(host.text, host.host.name());
  Findings findings;
  const std::string usual = groups.usual_hosts();
  for (const GpuHost& host : hosts) {
    if (host.text == groups.usual().key) continue;
    findings.push_back(
        {.id = std::string(kGpusDiffer),
         .severity = Severity::kWarning,
         .hosts = {host.host.name()},
         .what = fmt::format("its GPUs differ from those of {}", usual),
         .evidence = fmt::format("{}; on {} {}{}", host.text, usual, groups.usual().key,
                                 short_of_gpus(host)),
         .fix = "the job can run, at the pace of the slowest GPU; if a GPU is missing, see whether "
                "the host has lost one, or whether CUDA_VISIBLE_DEVICES hides it"});
  }
  return findings;
}

// The same model in a slot with fewer lanes. A GPU below its own maximum is another rule's.
Findings odd_widths(const std::vector<GpuHost>& hosts) {
  std::map<std::string, std::map<int, int>> counts;  // by model, by width
  for (const GpuHost& host : hosts) {
    for (const Gpu* const gpu : host.gpus) ++counts[gpu->model][gpu->pcie_width];
  }
  const auto usual_of = [&](const std::string& model) {
    const auto& widths = counts[model];
    return std::max_element(
               widths.begin(), widths.end(),
               [](const auto& one, const auto& two) { return one.second < two.second; })
        ->first;
  };
  Findings findings;
  for (const GpuHost& host : hosts) {
    const std::string evidence = gpus_text(host.gpus, [&](const Gpu& gpu) {
      const int usual = usual_of(gpu.model);
      const bool narrow =
          gpu.pcie_width > 0 && gpu.pcie_width < usual && gpu.pcie_width >= gpu.pcie_width_max;
      return narrow ? fmt::format("x{}, others x{}", gpu.pcie_width, usual) : std::string();
    });
    if (evidence.empty()) continue;
    findings.push_back({.id = std::string(kGpuPcieWidth),
                        .severity = Severity::kWarning,
                        .hosts = {host.host.name()},
                        .what = "a GPU has fewer PCIe lanes than most GPUs of its model here",
                        .evidence = evidence,
                        .fix = "put it into a slot with more lanes, or expect slower transfers"});
  }
  return findings;
}

Findings odd_mig(const std::vector<GpuHost>& hosts) {
  HostGroups groups;
  for (const GpuHost& host : hosts) {
    if (host.host.facts->gpus.empty()) continue;
    const bool on = std::any_of(host.host.facts->gpus.begin(), host.host.facts->gpus.end(),
                                [](const Gpu& gpu) { return gpu.mig.value_or(false); });
    groups.add(on ? "on" : "off", host.host.name());
  }
  if (groups.all().size() < 2) return {};
  const auto& with = groups.all()[groups.all()[0].key == "on" ? 0 : 1];
  return {
      {.id = std::string(kGpusDiffer),
       .severity = Severity::kWarning,
       .hosts = with.hosts,
       .what = "MIG mode is on, but not on the other hosts: a rank there gets only a part of a "
               "GPU",
       .evidence = "mig.mode.current is Enabled",
       .fix = "switch it off, with no program on the GPUs, or use only hosts that are alike:\n" +
              command_on_hosts("sudo nvidia-smi -mig 0")}};
}

}  // namespace

Findings find_gpu_peers(const Scene& scene) {
  const std::vector<GpuHost> hosts = hosts_with_gpus(scene);
  const bool any = std::any_of(hosts.begin(), hosts.end(),
                               [](const GpuHost& host) { return !host.gpus.empty(); });
  if (!any || hosts.size() < 2 || scene.job.ranks_by == "cpu") return {};
  Findings findings = odd_inventories(hosts);
  for (Finding& finding : odd_widths(hosts)) findings.push_back(std::move(finding));
  for (Finding& finding : odd_mig(hosts)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace muster::checks
