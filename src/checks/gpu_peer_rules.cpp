// GPUs that differ from those of the other hosts. Different GPUs work together, but the slower ones
// set the pace.
#include <algorithm>
#include <bit>
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

// Returns "; 8 ranks are to run there" if the host has fewer GPUs than ranks. Ranks that select the
// GPU number LOCAL_RANK would then find none.
std::string short_of_gpus(const GpuHost& host) {
  const auto gpus = static_cast<int>(host.gpus.size());
  const int ranks = host.host.placement->ranks;
  return gpus > 0 && ranks > gpus ? fmt::format("; {} ranks are to run there", ranks) : "";
}

// Adds the hosts with the most GPUs first, because the first of equally large groups is the usual
// one.
HostGroups by_inventory(std::vector<GpuHost> hosts) {
  std::stable_sort(hosts.begin(), hosts.end(), [](const GpuHost& one, const GpuHost& two) {
    return one.gpus.size() > two.gpus.size();
  });
  HostGroups groups;
  for (const GpuHost& host : hosts) groups.add(host.text, host.host.name());
  return groups;
}

// Whether the host seems to have lost GPUs: it has the CPU of `usual` and fewer GPUs of the same
// model, and their number, such as seven, is not a power of two and so unusual for a machine.
bool lacks_gpus(const GpuHost& host, const GpuHost& usual) {
  return host.gpus.size() < usual.gpus.size() && !std::has_single_bit(host.gpus.size()) &&
         host.host.facts->cpu.model == usual.host.facts->cpu.model &&
         std::all_of(
             host.gpus.begin(), host.gpus.end(),
             [&](const Gpu* gpu) { return gpu->model == usual.gpus.front()->model; });
}

// Returns "; none at 0000:c3:00.0" for the slots in which only the usual host has a GPU. Empty if
// the GPUs of the two hosts are at different addresses anyway.
std::string missing_text(const GpuHost& host, const GpuHost& usual) {
  std::vector<std::string> here, missing;
  for (const Gpu& gpu : host.host.facts->gpus) here.push_back(gpu.pci);
  for (const Gpu* const gpu : usual.gpus) {
    const bool is_here = std::find(here.begin(), here.end(), gpu->pci) != here.end();
    if (!is_here && !gpu->pci.empty()) missing.push_back(gpu->pci);
  }
  const bool same_slots = missing.size() + here.size() == usual.gpus.size();
  return missing.empty() || !same_slots ? "" : "; none at " + listed(missing);
}

Finding odd_inventory(const GpuHost& host, const GpuHost& usual, const std::string& usual_hosts,
                      bool is_trouble) {
  return {.id = std::string(kGpusDiffer),
          .severity = is_trouble ? Severity::kWarning : Severity::kNote,
          .hosts = {host.host.name()},
          .what = fmt::format("its GPUs differ from those of {}", usual_hosts),
          .evidence = fmt::format("{}{}; on {} {}{}", host.text, missing_text(host, usual),
                                  usual_hosts, usual.text, short_of_gpus(host)),
          .fix = is_trouble
                     ? "see whether the host has lost a GPU (lspci, and NVRM or amdgpu in the "
                       "kernel's log), or whether CUDA_VISIBLE_DEVICES hides it; without it, "
                       "start as many ranks there as the host has GPUs: --nproc-per-node auto"
                     : "none if the machines are meant to differ: the job can run, at the "
                       "pace of the slowest GPU"};
}

// A difference is trouble if the host has no GPU or fewer GPUs than ranks, or if it is the only
// host with exactly these GPUs and seems to have lost some. All others are just different machines.
Findings odd_inventories(const std::vector<GpuHost>& hosts) {
  const HostGroups groups = by_inventory(hosts);
  const auto usual = std::find_if(hosts.begin(), hosts.end(), [&](const GpuHost& host) {
    return host.text == groups.usual().key;
  });
  std::map<std::string, std::size_t> hosts_with;
  for (const HostGroup& group : groups.all()) hosts_with[group.key] = group.hosts.size();
  const std::string usual_hosts = groups.usual_hosts();
  Findings findings;
  for (const GpuHost& host : hosts) {
    if (host.text == usual->text) continue;
    const bool is_trouble = host.gpus.empty() || !short_of_gpus(host).empty() ||
                            (hosts_with[host.text] == 1 && lacks_gpus(host, *usual));
    findings.push_back(odd_inventory(host, *usual, usual_hosts, is_trouble));
  }
  return findings;
}

// Finds GPUs whose slot has fewer PCIe lanes than most GPUs of their model have. The rule
// gpu-health reports GPUs that use fewer lanes than they could.
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

// Finds GPUs with a slower PCIe link than other GPUs of their model on the same host. A whole host
// with an older PCIe generation is a different machine and not a fault.
Findings slow_links(const std::vector<GpuHost>& hosts) {
  Findings findings;
  for (const GpuHost& host : hosts) {
    std::map<std::string, int> best;  // by model
    for (const Gpu* const gpu : host.gpus) {
      best[gpu->model] = std::max(best[gpu->model], gpu->pcie_gen_max);
    }
    const std::string evidence = gpus_text(host.gpus, [&](const Gpu& gpu) {
      const bool slow = gpu.pcie_gen_max > 0 && gpu.pcie_gen_max < best[gpu.model];
      return slow ? fmt::format("PCIe generation {}, others on the host {}", gpu.pcie_gen_max,
                                best[gpu.model])
                  : std::string();
    });
    if (evidence.empty()) continue;
    findings.push_back({.id = std::string(kGpuPcieWidth),
                        .severity = Severity::kWarning,
                        .hosts = {host.host.name()},
                        .what = "a GPU has a slower PCIe link than the others of its model",
                        .evidence = evidence,
                        .fix = "look for a limit of the slot's speed in the BIOS; otherwise reseat "
                               "the GPU or its riser"});
  }
  return findings;
}

std::string say_mig(const Gpu& gpu) {
  return gpu.mig.value_or(false) ? "mig.mode.current is Enabled" : "";
}

Findings odd_mig(const std::vector<GpuHost>& hosts) {
  Findings findings;
  std::size_t with_gpus = 0;
  for (const GpuHost& host : hosts) {
    std::vector<const Gpu*> gpus;
    for (const Gpu& gpu : host.host.facts->gpus) gpus.push_back(&gpu);
    with_gpus += gpus.empty() ? 0 : 1;
    const std::string evidence = gpus_text(gpus, say_mig);
    if (evidence.empty()) continue;
    findings.push_back(
        {.id = std::string(kGpusDiffer),
         .severity = Severity::kWarning,
         .hosts = {host.host.name()},
         .what = "MIG mode is on, but not on the other hosts: a rank there gets only a part of a "
                 "GPU, or none",
         .evidence = evidence,
         .fix = "switch it off, with no program on the GPUs, or use only hosts that are alike:\n" +
                command_on_hosts("sudo nvidia-smi -mig 0")});
  }
  if (findings.size() == with_gpus) return {};  // all hosts with GPUs use MIG, so it is intended
  return findings;
}

}  // namespace

Findings find_gpu_peers(const Scene& scene) {
  const std::vector<GpuHost> hosts = hosts_with_gpus(scene);
  const bool any = std::any_of(hosts.begin(), hosts.end(),
                               [](const GpuHost& host) { return !host.gpus.empty(); });
  if (!any || hosts.size() < 2 || scene.job.ranks_by == "cpu") return {};
  Findings findings = odd_inventories(hosts);
  for (Finding& finding : odd_widths(hosts)) findings.push_back(std::move(finding));
  for (Finding& finding : slow_links(hosts)) findings.push_back(std::move(finding));
  for (Finding& finding : odd_mig(hosts)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace muster::checks
