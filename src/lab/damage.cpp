#include "lab/damage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace muster::lab {
namespace {

using Argument = const std::string&;

Error wrong_argument(const Hardware& hardware, std::string what) {
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("{} on a {}", what, hardware.name),
          .hint = "rails and GPUs are counted from 0; a rail may also be named by its RDMA device"};
}

std::optional<std::size_t> count_from(std::string_view text) {
  std::size_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The n-th card that carries the job's traffic, counted from 0, or any card by its name.
Result<RdmaDevice*> find_rail(Hardware& hardware, Argument wanted) {
  const auto number = count_from(wanted);
  std::size_t seen = 0;
  for (RdmaDevice& device : hardware.rdma) {
    const bool is_wanted =
        number ? device.use == "rail" && seen++ == *number : device.name == wanted;
    if (is_wanted) return &device;
  }
  return unexpected(wrong_argument(hardware, fmt::format("there is no rail '{}'", wanted)));
}

Result<Gpu*> find_gpu(Hardware& hardware, Argument wanted) {
  const auto number = count_from(wanted);
  if (number && *number < hardware.gpus.size()) return &hardware.gpus[*number];
  return unexpected(wrong_argument(hardware, fmt::format("there is no GPU '{}'", wanted)));
}

template <class Change>
Result<void> to_rail(Hardware& hardware, Argument wanted, const Change& change) {
  MUSTER_TRY(RdmaDevice* const rail, find_rail(hardware, wanted));
  change(*rail);
  return {};
}

template <class Change>
Result<void> to_gpu(Hardware& hardware, Argument wanted, const Change& change) {
  MUSTER_TRY(Gpu* const gpu, find_gpu(hardware, wanted));
  change(*gpu);
  return {};
}

void log_xid(Hardware& hardware, const Gpu& gpu, std::string_view message) {
  if (hardware.model.vendor != "nvidia") return;
  hardware.kernel_log.push_back(
      fmt::format("NVRM: Xid (PCI:{}): {}", gpu.pci.address.substr(0, 10), message));
}

Result<void> rail_down(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) {
    rail.state = "1: DOWN";
    rail.phys_state = rail.link_layer == "InfiniBand" ? "2: Polling" : "3: Disabled";
    rail.rate = rail.link_layer == "InfiniBand" ? "10 Gb/sec (4X SDR)" : "40 Gb/sec (4X QDR)";
    rail.error_counters["link_downed"] = 1;
  });
}

Result<void> rail_init(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) { rail.state = "2: INIT"; });
}

Result<void> rail_slow(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) { rail.rate = "100 Gb/sec (4X EDR)"; });
}

Result<void> rail_no_gid(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) {
    std::erase_if(rail.gids, [](const Gid& gid) { return gid.ipv4; });
  });
}

Result<void> rail_gid_moved(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) {
    for (Gid& gid : rail.gids) gid.index += gid.ipv4 ? 2 : 0;
  });
}

Result<void> rail_mtu(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) { rail.mtu = 1280; });
}

Result<void> rail_gone(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) { rail.present = false; });
}

Result<void> rail_errors(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) {
    rail.error_counters = {{"symbol_error", 48213},
                           {"link_error_recovery", 7},
                           {"link_downed", 12},
                           {"local_link_integrity_errors", 3}};
  });
}

Result<void> rail_pcie(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted,
                 [](RdmaDevice& rail) { rail.pci.width = std::max(1, rail.pci.max_width / 2); });
}

Result<void> rail_firmware(Hardware& hardware, Argument wanted) {
  return to_rail(hardware, wanted, [](RdmaDevice& rail) { rail.firmware = "20.30.1004"; });
}

Result<void> gpu_lost(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    gpu.pci.answers = false;
    log_xid(hardware, gpu, "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  });
}

Result<void> gpu_missing(Hardware& hardware, Argument wanted) {
  MUSTER_TRY(const Gpu* const gpu, find_gpu(hardware, wanted));
  hardware.gpus.erase(hardware.gpus.begin() + (gpu - hardware.gpus.data()));
  return {};
}

Result<void> gpu_ecc(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    gpu.ecc_uncorrected = 4;
    log_xid(hardware, gpu, "48, pid='<unknown>', name=<unknown>, DBE (double bit error) detected");
  });
}

Result<void> gpu_remap(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    gpu.remap_pending = true;
    log_xid(hardware, gpu, "63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked");
  });
}

Result<void> gpu_remap_failed(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    gpu.remap_failed = true;
    log_xid(hardware, gpu, "64, pid='<unknown>', name=<unknown>, Row Remapper: failed");
  });
}

Result<void> gpu_throttled(Hardware& hardware, Argument wanted) {
  // the bits for hw_slowdown and hw_thermal_slowdown
  return to_gpu(hardware, wanted, [](Gpu& gpu) { gpu.clock_reasons = 0x48; });
}

Result<void> gpu_xid(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    log_xid(hardware, gpu, "74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected");
  });
}

Result<void> gpu_pcie(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted,
                [](Gpu& gpu) { gpu.pci.width = std::max(1, gpu.pci.max_width / 2); });
}

Result<void> gpu_pcie_speed(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted,
                [](Gpu& gpu) { gpu.pci.speed = gpu.pci.max_speed = "8.0 GT/s PCIe"; });
}

Result<void> gpu_mig(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [](Gpu& gpu) { gpu.mig = true; });
}

Result<void> gpu_prohibited(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [](Gpu& gpu) { gpu.compute_mode = "Prohibited"; });
}

// The argument is "GPU", or "GPU:PID" once the process is running.
Result<void> gpu_process(Hardware& hardware, Argument wanted) {
  const std::size_t colon = std::min(wanted.find(':'), wanted.size());
  const auto pid = count_from(std::string_view(wanted).substr(std::min(colon + 1, wanted.size())));
  return to_gpu(hardware, wanted.substr(0, colon), [&](Gpu& gpu) {
    gpu.processes.push_back({.pid = static_cast<int>(pid.value_or(0)),
                             .name = "/opt/env/bin/python3",
                             .memory_mib = 41230});
  });
}

Result<void> nvlink_down(Hardware& hardware, Argument wanted) {
  return to_gpu(hardware, wanted, [&](Gpu& gpu) {
    gpu.links_down = std::min(2, hardware.model.links);
    log_xid(hardware, gpu, "74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected");
  });
}

Result<void> no_persistence(Hardware& hardware, Argument /*none*/) {
  for (Gpu& gpu : hardware.gpus) gpu.persistence = false;
  return {};
}

Result<void> gpu_driver(Hardware& hardware, Argument version) {
  const bool good =
      !version.empty() && version.find_first_not_of("0123456789.") == std::string::npos;
  if (!good) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("'{}' is not a driver version", version),
                            .hint = "write it as in 535.129.03"});
  }
  hardware.model.driver = version;
  return {};
}

Result<void> driver_mismatch(Hardware& hardware, Argument /*none*/) {
  hardware.tool = ToolState::kMismatch;
  return {};
}

Result<void> smi_hangs(Hardware& hardware, Argument /*none*/) {
  hardware.tool = ToolState::kHangs;
  return {};
}

Result<void> smi_missing(Hardware& hardware, Argument /*none*/) {
  hardware.tool = ToolState::kMissing;
  return {};
}

Result<void> fabric_manager(Hardware& hardware, Argument /*none*/) {
  if (!hardware.model.fabric) {
    return unexpected(wrong_argument(hardware, "there is no fabric manager"));
  }
  hardware.fabric_manager = false;
  return {};
}

Result<void> no_peer_memory(Hardware& hardware, Argument /*none*/) {
  std::erase_if(hardware.modules, [](const std::string& name) {
    return name.find("peermem") != std::string::npos || name == "ib_peer_mem";
  });
  return {};
}

constexpr std::array<Damage, 30> kDamages = {{
    {"rail", "RAIL", "takes the port down, as an unplugged cable does", rail_down},
    {"rail-errors", "RAIL", "shows symbol errors and link failures in its counters", rail_errors},
    {"rail-firmware", "RAIL", "shows old firmware on the card", rail_firmware},
    {"rail-gid-moved", "RAIL", "moves the IPv4 GIDs two entries up, as a reboot can",
     rail_gid_moved},
    {"rail-gone", "RAIL", "removes the card from the host", rail_gone},
    {"rail-init", "RAIL", "leaves the port in INIT: no subnet manager", rail_init},
    {"rail-mtu", "RAIL", "gives the card's interface an MTU of 1280", rail_mtu},
    {"rail-no-gid", "RAIL", "removes the IPv4 GIDs of the port", rail_no_gid},
    {"rail-pcie", "RAIL", "halves the card's PCIe width, to x8 of x16", rail_pcie},
    {"rail-slow", "RAIL", "lets the port come up at 100 Gb/s", rail_slow},
    {"gpu-driver", "VERSION", "shows this version of the GPU driver", gpu_driver},
    {"gpu-ecc", "GPU", "counts 4 uncorrected ECC errors", gpu_ecc},
    {"gpu-lost", "GPU", "lets the GPU fall off the bus (Xid 79)", gpu_lost},
    {"gpu-mig", "GPU", "divides the GPU (MIG mode)", gpu_mig},
    {"gpu-missing", "GPU", "removes the GPU from the host", gpu_missing},
    {"gpu-pcie", "GPU", "halves the GPU's PCIe width, to x8 of x16", gpu_pcie},
    {"gpu-pcie-speed", "GPU", "limits the GPU's PCIe link to generation 3", gpu_pcie_speed},
    {kForeignProcess, "GPU", "lets a process of another user hold GPU memory", gpu_process},
    {"gpu-prohibited", "GPU", "sets the compute mode Prohibited", gpu_prohibited},
    {"gpu-remap", "GPU", "leaves a row remapping pending", gpu_remap},
    {"gpu-remap-failed", "GPU", "lets a row remapping fail", gpu_remap_failed},
    {"gpu-throttled", "GPU", "slows the GPU down because of heat", gpu_throttled},
    {"gpu-xid", "GPU", "writes an Xid 74 into the kernel log", gpu_xid},
    {"nvlink", "GPU", "takes two NVLinks of the GPU down", nvlink_down},
    {"no-fabric-manager", "", "stops the fabric manager", fabric_manager},
    {"no-peer-memory", "", "unloads nvidia_peermem and the like", no_peer_memory},
    {"no-persistence", "", "turns persistence mode off on all GPUs", no_persistence},
    {"driver-mismatch", "", "makes nvidia-smi fail: driver and library differ", driver_mismatch},
    {"smi-hangs", "", "makes nvidia-smi or amd-smi hang", smi_hangs},
    {"smi-missing", "", "removes nvidia-smi or amd-smi", smi_missing},
}};

}  // namespace

std::span<const Damage> damages() {
  return kDamages;
}

const Damage* find_damage(std::string_view name) {
  const auto rows = damages();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Damage& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace muster::lab
