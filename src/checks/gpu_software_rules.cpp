// Drivers, tools and libraries that do not match the GPUs or each other.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "checks/gpu_wording.hpp"
#include "checks/host_groups.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

int leading_number(std::string_view text) {
  int value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the major version of the oldest driver that runs programs for this major version of CUDA,
// whatever their minor version. 0 if CUDA is unknown or older than 11.
int oldest_driver(std::string_view cuda) {
  const int major = leading_number(cuda);
  return major >= 13 ? 580 : major == 12 ? 525 : major == 11 ? 450 : 0;
}

bool has_nvidia(const Participant& host) {
  return std::any_of(host.facts->gpus.begin(), host.facts->gpus.end(),
                     [](const facts::Gpu& gpu) { return gpu.vendor == "NVIDIA"; });
}

// Whether the host seems to have CUDA's forward compatibility libraries, with which newer CUDA
// programs run with an older driver on data centre GPUs.
bool has_forward_compatibility(const facts::Facts& host) {
  const auto path = host.environment.seen.find("LD_LIBRARY_PATH");
  return path != host.environment.seen.end() && path->second.find("compat") != std::string::npos;
}

Findings differing(const HostGroups& groups, std::string_view id, Severity severity,
                   const char* name, const char* fix) {
  Findings findings;
  const std::string usual = groups.usual_hosts();
  for (const HostGroup& group : groups.odd()) {
    findings.push_back(
        {.id = std::string(id),
         .severity = severity,
         .hosts = group.hosts,
         .what = fmt::format("its {} differs from the one on {}", name, usual),
         .evidence = fmt::format("{}; on {} {}", group.key, usual, groups.usual().key),
         .fix = fix});
  }
  return findings;
}

void add_old_driver(const Scene& scene, const Participant& host, Findings& findings) {
  const facts::Torch& torch = host.facts->torch;
  const std::string& driver = host.facts->gpu_drivers.nvidia;
  const int oldest = oldest_driver(torch.cuda);
  if (driver.empty() || leading_number(driver) >= oldest) return;
  if (has_forward_compatibility(*host.facts)) return;
  findings.push_back(
      {.id = std::string(kDriverTooOld),
       .severity = severity_without_gpus(scene),
       .hosts = {host.name()},
       .what = "its NVIDIA driver is too old for the CUDA version of its PyTorch",
       .evidence =
           fmt::format("driver {}; CUDA {} needs driver {} or later", driver, torch.cuda, oldest),
       .fix = "update the driver, or install a PyTorch that was built for an older CUDA version"});
}

void add_torch_without_gpus(const Participant& host, Findings& findings) {
  // Intel GPUs do not count, because PyTorch may use them through an extension of which its version
  // says nothing.
  const bool usable = std::any_of(
      host.facts->gpus.begin(), host.facts->gpus.end(),
      [](const facts::Gpu& gpu) { return gpu.problem.empty() && gpu.vendor != "Intel"; });
  if (!usable || host.facts->torch.uses_gpus != false) return;
  const facts::Facts& facts = *host.facts;
  const bool of_program = facts.program && !facts.program->torch.empty();
  findings.push_back(
      {.id = std::string(kTorchWithoutCuda),
       .severity = Severity::kWarning,
       .hosts = {host.name()},
       .what =
           "it has GPUs, but its PyTorch was built without CUDA and ROCm, so the ranks would use "
           "CPUs only",
       .evidence =
           fmt::format("PyTorch {}", of_program ? facts.program->torch : facts.torch.version),
       .fix =
           "install a PyTorch for these GPUs (see pytorch.org), or activate the environment that "
           "has it"});
}

// Reports that nvidia-smi or amd-smi is missing, fails or hangs. A failure means more than missing
// facts: the driver or a GPU may be broken.
void add_failed_tool(const Scene& scene, const Participant& host, Findings& findings) {
  for (const facts::NotSeen& one : host.facts->not_seen) {
    if (one.what != "gpus.nvidia-smi" && one.what != "gpus.amd-smi" &&
        one.what != "gpus.mig_devices")
      continue;
    if (one.why.find("not installed") != std::string::npos) {
      findings.push_back({.id = std::string(kFactsNotGathered),
                          .severity = Severity::kNote,
                          .hosts = {host.name()},
                          .what = "not examined: the health of its GPUs",
                          .evidence = one.why});
      continue;
    }
    const bool mismatch = one.why.find("version mismatch") != std::string::npos;
    const bool hangs = one.why.find("no answer") != std::string::npos;
    findings.push_back(
        {.id = std::string(mismatch ? kDriverMismatch : kGpuToolFails),
         .severity = mismatch ? severity_without_gpus(scene) : Severity::kWarning,
         .hosts = {host.name()},
         .what = mismatch ? "the NVIDIA driver was updated, but the old one is still loaded: CUDA "
                            "cannot start"
                 : hangs  ? "the tool that tells about its GPUs hangs: a GPU may be sick"
                          : "the tool that tells about its GPUs fails",
         .evidence = one.why,
         .fix =
             mismatch ? "reboot the host, or reload the kernel module with no program on the GPUs"
             : hangs
                 ? "look for errors in the kernel's log, and reboot the host if programs hang on "
                   "its GPUs; if the driver is only slow to load, switch persistence mode on "
                   "(sudo nvidia-smi -pm 1) or pass a longer --answer-within"
                 : "see what it says on the host"});
  }
}

// Whether the host's RDMA cards can access GPU memory directly.
bool has_gpudirect(const Participant& host) {
  const facts::PeerMemory& memory = host.facts->peer_memory;
  return !memory.module.empty() || memory.dmabuf.value_or(false);
}

// Reports hosts without GPUDirect only if most hosts have it. Otherwise it may be off on purpose.
Findings without_gpudirect(const Scene& scene) {
  const bool is_verbs =
      scene.layout.fabric == layout::Fabric::kInfiniband || layout::is_roce(scene.layout.fabric);
  if (!is_verbs) return {};
  std::string module;  // module that other hosts have loaded
  std::vector<std::string> able, unable;
  for (const Participant& host : participants(scene)) {
    if (host.facts->gpus.empty()) continue;
    (has_gpudirect(host) ? able : unable).push_back(host.name());
    if (module.empty()) module = host.facts->peer_memory.module;
  }
  if (module.empty() || unable.empty() || able.size() <= unable.size()) return {};
  return {{.id = std::string(kNoGpudirect),
           .severity = Severity::kWarning,
           .hosts = unable,
           .what = "RDMA cards may be unable to reach the GPUs' memory there (GPUDirect): NCCL "
                   "would copy all data through the host's memory",
           .evidence = fmt::format("the module {} is not loaded; on most hosts it is", module),
           .fix = "load the module there, and at every boot:\n" +
                  command_on_hosts("sudo modprobe " + module)}};
}

}  // namespace

Findings find_gpu_software(const Scene& scene) {
  Findings findings;
  HostGroups nvidia;
  HostGroups amd;
  HostGroups nccl;
  if (scene.job.ranks_by == "cpu") return findings;
  for (const Participant& host : participants(scene)) {
    if (host.facts->gpus.empty()) continue;
    const facts::GpuDrivers& drivers = host.facts->gpu_drivers;
    if (has_nvidia(host)) add_old_driver(scene, host, findings);
    add_torch_without_gpus(host, findings);
    add_failed_tool(scene, host, findings);
    if (!drivers.nvidia.empty()) nvidia.add(drivers.nvidia, host.name());
    if (!drivers.amd.empty()) amd.add(drivers.amd, host.name());
    if (!host.facts->torch.nccl.empty()) nccl.add(host.facts->torch.nccl, host.name());
  }
  const auto append = [&](Findings more) {
    for (Finding& finding : more) findings.push_back(std::move(finding));
  };
  append(differing(nvidia, kGpuDriverDiffers, Severity::kWarning, "NVIDIA driver",
                   "install the same driver on all hosts; NCCL may choose other paths on some"));
  append(differing(amd, kGpuDriverDiffers, Severity::kWarning, "amdgpu driver",
                   "install the same driver on all hosts"));
  append(
      differing(nccl, kNcclVersion, severity_without_gpus(scene), "version of NCCL",
                "install the same PyTorch on all hosts: versions of NCCL that differ do not work "
                "together"));
  append(without_gpudirect(scene));
  return findings;
}

}  // namespace muster::checks
