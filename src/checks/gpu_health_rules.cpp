// GPUs that are faulty, slow or in use.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "checks/gpu_wording.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

using facts::Gpu;

constexpr const char* kDrainHost =
    "leave the host out with --exclude until the GPU has been reset or the host rebooted; to reset "
    "it, first end all programs on the GPU, then run:\n";
// An idle driver or a desktop uses less memory than this.
constexpr std::int64_t kMuchMemory = std::int64_t{2} << 30;
constexpr double kRecent = 24 * 3600;  // seconds

// One kind of problem of a GPU. `say` describes it for one GPU, and returns an empty text if the
// GPU does not have the problem.
struct GpuSign {
  std::string_view id;
  const char* what;
  std::string (*say)(const Gpu& gpu);
  const char* fix;
  const char* command = nullptr;  // appended to the fix
};

std::string counted_errors(std::int64_t count) {
  return fmt::format("{} error{}", count, count == 1 ? "" : "s");
}

std::string say_ecc(const Gpu& gpu) {
  return gpu.ecc_uncorrected > 0 ? counted_errors(gpu.ecc_uncorrected) : "";
}

std::string say_remap_failed(const Gpu& gpu) {
  return gpu.remap_failed.value_or(false) ? "a row could not be remapped" : "";
}

std::string say_pending(const Gpu& gpu) {
  if (gpu.remap_pending.value_or(false)) return "a row remap is pending";
  return gpu.retired_pages_pending.value_or(false) ? "a page retirement is pending" : "";
}

// Ignores clocks that were lowered because of the power limit, which is normal under load.
std::string say_throttled(const Gpu& gpu) {
  constexpr std::array<std::string_view, 8> kBad = {
      "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
      "prochot",     "socket_thermal",      "vr_thermal",          "hbm_thermal"};
  std::vector<std::string> reasons;
  for (const std::string& reason : gpu.throttled_by) {
    if (std::find(kBad.begin(), kBad.end(), reason) != kBad.end()) reasons.push_back(reason);
  }
  return listed(reasons);
}

std::string say_narrow(const Gpu& gpu) {
  const bool narrow = gpu.pcie_width > 0 && gpu.pcie_width < gpu.pcie_width_max;
  return narrow ? fmt::format("x{} of x{}", gpu.pcie_width, gpu.pcie_width_max) : "";
}

std::string say_links(const Gpu& gpu) {
  // If all links are down, the card probably has no NVLink bridge to other cards, which is not a
  // fault.
  if (gpu.nvlinks_down <= 0 || gpu.nvlinks_up <= 0) return {};
  return fmt::format("{} of {} down", gpu.nvlinks_down, gpu.nvlinks_up + gpu.nvlinks_down);
}

std::string say_prohibited(const Gpu& gpu) {
  return gpu.compute_mode == "Prohibited" ? "compute mode is Prohibited" : "";
}

constexpr GpuSign kSigns[] = {
    {kGpuLost, "a GPU is closed to all programs", say_prohibited, "open it:\n",
     "sudo nvidia-smi -c DEFAULT"},
    {kGpuSick, "a GPU has uncorrectable memory errors; a job on it may crash", say_ecc, kDrainHost,
     "sudo nvidia-smi --gpu-reset"},
    {kGpuRemapFailed, "a GPU's memory is damaged and could not be repaired", say_remap_failed,
     "leave the host out with --exclude, and have the GPU replaced"},
    {kGpuRemapped, "a GPU has bad memory that it will stop using only after a reset", say_pending,
     kDrainHost, "sudo nvidia-smi --gpu-reset"},
    {kGpuThrottled, "a GPU runs slower than it could, because of heat or power", say_throttled,
     "check the host's cooling and power supplies; all ranks wait for the slowest GPU"},
    {kGpuPcieWidth, "a GPU uses fewer PCIe lanes than it could", say_narrow,
     "power the host off and reseat the GPU or its riser; transfers between hosts are slower until "
     "then"},
    {kNvlinkDown, "NVLinks of a GPU are down", say_links,
     "look for the cause in the kernel's log (NVRM: Xid 74); a reset of all GPUs of the host or a "
     "reboot may bring them back, otherwise have the GPU or its board checked"},
};

struct XidMeaning {
  int code;
  std::string_view id;
  const char* text;
};

constexpr XidMeaning kXids[] = {
    {48, kGpuSick, "uncorrectable memory error"},
    {63, kGpuRemapped, "memory row remapped or page retired, a reset is needed"},
    {64, kGpuRemapFailed, "memory row could not be remapped"},
    {74, kNvlinkDown, "NVLink error"},
    {79, kGpuLost, "GPU has fallen off the bus"},
    {94, kGpuContained, "contained memory error, the program that hit it ended"},
    {95, kGpuUncontained, "uncontained memory error, the GPU needs a reset"},
};

std::string say_xid(const Gpu& gpu, const XidMeaning& meaning) {
  const bool is_recent = std::any_of(gpu.xids.begin(), gpu.xids.end(), [&](const auto& xid) {
    return xid.code == meaning.code && xid.seconds_ago <= kRecent;
  });
  return is_recent ? fmt::format("Xid {} ({})", meaning.code, meaning.text) : "";
}

std::string say_lost(const Gpu& gpu) {
  return gpu.problem;
}

// Whether this is a program that keeps GPUs open on many hosts but does not compute on them.
bool is_service(std::string_view command) {
  constexpr std::array<std::string_view, 8> kServices = {
      "Xorg",          "Xwayland",        "gnome-shell",
      "kwin_wayland",  "nvidia-cuda-mps", "nvidia-persiste",
      "nv-hostengine", "gnome-remote-de"};
  return std::any_of(kServices.begin(), kServices.end(),
                     [&](std::string_view name) { return command.starts_with(name); });
}

std::string holder_text(const facts::GpuProcess& process) {
  std::string text =
      process.user.empty()
          ? fmt::format("process {} of another container", process.pid)
          : fmt::format("process {} of {} ({})", process.pid, process.user, process.command);
  if (process.memory_bytes > 0) text += " with " + bytes_text(process.memory_bytes);
  return text;
}

std::string say_taken(const Gpu& gpu) {
  std::vector<std::string> holders;
  for (const facts::GpuProcess& process : gpu.processes) {
    if (!is_service(process.command)) holders.push_back(holder_text(process));
  }
  if (!holders.empty()) return listed(holders, 4);
  if (gpu.memory_used_bytes < kMuchMemory || !gpu.processes.empty()) return {};
  return fmt::format("{} are in use by a process that you cannot see",
                     bytes_text(gpu.memory_used_bytes));
}

Finding about_gpus(const GpuSign& sign, const Participant& host, std::string evidence) {
  std::string fix = sign.fix;
  if (sign.command != nullptr) fix += command_on_hosts(sign.command);
  return {.id = std::string(sign.id),
          .severity = Severity::kWarning,
          .hosts = {host.name()},
          .what = sign.what,
          .evidence = std::move(evidence),
          .fix = std::move(fix)};
}

// NVLinks through NVSwitches work only after the fabric manager has set them up. Until then CUDA
// does not start (error 802).
Findings fabric_findings(const Scene& scene, const Participant& host) {
  const facts::GpuDrivers& drivers = host.facts->gpu_drivers;
  const auto say = [](const Gpu& gpu) {
    const bool waits = gpu.fabric_state == "In Progress" || gpu.fabric_state == "Not Started";
    return waits ? "fabric state is " + gpu.fabric_state : std::string();
  };
  const std::vector<const Gpu*> gpus = gpus_of_ranks(scene, host);
  std::string evidence = gpus_text(gpus, say);
  const bool is_up = std::any_of(gpus.begin(), gpus.end(),
                                 [](const Gpu* gpu) { return gpu->fabric_state == "Completed"; });
  if (evidence.empty() && !is_up && drivers.fabric_manager == false && !gpus.empty()) {
    evidence = fmt::format("{} NVSwitches, but no process nv-fabricmanager", drivers.nvswitches);
  }
  if (evidence.empty()) return {};
  return {
      {.id = std::string(kFabricManager),
       .severity = severity_without_gpus(scene),
       .hosts = {host.name()},
       .what = "the fabric manager of its NVSwitches is not running, so CUDA cannot start there",
       .evidence = std::move(evidence),
       .fix = fmt::format("install the package nvidia-fabricmanager of the same version as the "
                          "driver{}{}, and start it:\n{}",
                          drivers.nvidia.empty() ? "" : ", ", drivers.nvidia,
                          command_on_hosts("sudo systemctl enable --now nvidia-fabricmanager"))}};
}

std::vector<const Gpu*> all_gpus(const facts::Facts& host) {
  std::vector<const Gpu*> gpus;
  for (const Gpu& gpu : host.gpus) gpus.push_back(&gpu);
  return gpus;
}

constexpr GpuSign kLost = {kGpuLost, "a GPU is in the host, but programs cannot use it", say_lost,
                           "look for the cause in the kernel's log (NVRM, amdgpu); a GPU that has "
                           "fallen off the bus comes "
                           "back only with a reboot; leave the host out with --exclude until then"};
constexpr GpuSign kTaken = {
    kGpuTaken, "other programs use a GPU: the job may be slow or run out of memory", say_taken,
    "wait until they have ended, end them, or choose other GPUs with -x CUDA_VISIBLE_DEVICES=..."};

// Makes one finding per kind of error, because each kind has its own entry in the failure
// catalogue.
Findings xid_findings(const Participant& host) {
  Findings findings;
  for (const XidMeaning& meaning : kXids) {
    std::string evidence =
        gpus_text(all_gpus(*host.facts), [&](const Gpu& gpu) { return say_xid(gpu, meaning); });
    if (evidence.empty()) continue;
    findings.push_back(
        {.id = std::string(meaning.id),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = "the NVIDIA driver has reported errors of a GPU within the last day",
         .evidence = std::move(evidence),
         .fix = "see what the kernel's log says about it; leave the host out with --exclude if it "
                "happens again:\n" +
                command_on_hosts("sudo dmesg -T | grep 'NVRM: Xid'")});
  }
  return findings;
}

// Whether GPU problems may affect this job: the user asked for GPUs, or some host has a working
// GPU, which ranks may use even if nobody asked for it.
bool gpus_matter(const Scene& scene, const std::vector<Participant>& hosts) {
  return wants_gpus(scene) || std::any_of(hosts.begin(), hosts.end(), [](const Participant& host) {
           const auto& gpus = host.facts->gpus;
           return std::any_of(gpus.begin(), gpus.end(),
                              [](const Gpu& gpu) { return gpu.problem.empty(); });
         });
}

}  // namespace

Findings find_gpu_health(const Scene& scene) {
  Findings findings;
  const std::vector<Participant> hosts = participants(scene);
  if (scene.job.ranks_by == "cpu" || !gpus_matter(scene, hosts)) return findings;
  for (const Participant& host : hosts) {
    if (host.facts->gpus.empty()) continue;
    const std::vector<const Gpu*> gpus = gpus_of_ranks(scene, host);
    const auto add = [&](const GpuSign& sign, const std::vector<const Gpu*>& among) {
      std::string evidence = gpus_text(among, sign.say);
      if (!evidence.empty()) findings.push_back(about_gpus(sign, host, std::move(evidence)));
    };
    add(kLost, all_gpus(*host.facts));
    for (const GpuSign& sign : kSigns) add(sign, gpus);
    std::ranges::move(xid_findings(host), std::back_inserter(findings));
    add(kTaken, gpus);
    std::ranges::move(fabric_findings(scene, host), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace muster::checks
