// The lab's version of NVIDIA's driver files and nvidia-smi. The tables below list the fields in
// the order of `nvidia-smi --help-query-gpu`.
#include <algorithm>

#include <fmt/format.h>

#include "lab/hardware_tree.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kNotAvailable = "[N/A]";

// Turns 0000:1b:00.0 into 00000000:1B:00.0.
std::string long_bus_id(const std::string& address) {
  std::string text = "0000" + address;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Turns "32.0 GT/s PCIe" into 5.
std::string_view pcie_generation(std::string_view speed) {
  constexpr std::pair<std::string_view, std::string_view> kGenerations[] = {
      {"2.5", "1"}, {"5.0", "2"}, {"8.0", "3"}, {"16.0", "4"}, {"32.0", "5"}, {"64.0", "6"}};
  for (const auto& [start, generation] : kGenerations) {
    if (speed.starts_with(start)) return generation;
  }
  return kNotAvailable;
}

int used_mib(const Gpu& gpu) {
  int used = 0;
  for (const GpuProcess& process : gpu.processes) used += process.memory_mib;
  return used;
}

// Rows of "names <TAB> unit <TAB> one value per GPU". Synonymous names are separated by '|'.
class QueryTable {
 public:
  explicit QueryTable(const Hardware& hardware) : hardware_(hardware) {}

  template <class Value>
  void add(std::string_view names, std::string_view unit, const Value& value) {
    text_ += fmt::format("{}\t{}", names, unit);
    for (std::size_t i = 0; i < hardware_.gpus.size(); ++i) {
      text_ += fmt::format("\t{}", value(hardware_.gpus[i], i));
    }
    text_ += '\n';
  }
  // Adds a row with the same value for all GPUs.
  void same(std::string_view names, std::string_view unit, std::string_view value) {
    add(names, unit, [&](const Gpu&, std::size_t) { return value; });
  }
  void same_if(bool available, std::string_view names, std::string_view unit,
               const std::string& value) {
    same(names, unit, available ? std::string_view(value) : kNotAvailable);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const Hardware& hardware_;
  std::string text_;
};

void add_identity(const Hardware& hardware, QueryTable& table) {
  table.same("driver_version", "", hardware.model.driver);
  table.same("count", "", fmt::format("{}", hardware.gpus.size()));
  table.same("name|gpu_name", "", hardware.model.name);
  table.add("serial|gpu_serial", "", [](const Gpu& gpu, std::size_t) { return gpu.serial; });
  table.add("uuid|gpu_uuid", "", [](const Gpu& gpu, std::size_t) { return gpu.uuid; });
  table.add("pci.bus_id|gpu_bus_id", "",
            [](const Gpu& gpu, std::size_t) { return long_bus_id(gpu.pci.address); });
  table.add("pci.domain", "",
            [](const Gpu& gpu, std::size_t) { return "0x" + gpu.pci.address.substr(0, 4); });
  table.add("pci.bus", "",
            [](const Gpu& gpu, std::size_t) { return "0x" + gpu.pci.address.substr(5, 2); });
  table.add("pci.device", "",
            [](const Gpu& gpu, std::size_t) { return "0x" + gpu.pci.address.substr(8, 2); });
  table.add("pci.device_id", "",
            [](const Gpu& gpu, std::size_t) { return gpu.pci.device + gpu.pci.vendor.substr(2); });
  table.add("index", "", [](const Gpu&, std::size_t i) { return fmt::format("{}", i); });
  table.same("vbios_version", "", hardware.model.vbios);
  table.same("compute_cap", "", hardware.model.compute_capability);
}

void add_pcie(QueryTable& table) {
  for (const char* name : {"pcie.link.gen.current", "pcie.link.gen.gpucurrent"}) {
    table.add(name, "", [](const Gpu& gpu, std::size_t) { return pcie_generation(gpu.pci.speed); });
  }
  for (const char* name : {"pcie.link.gen.max", "pcie.link.gen.gpumax", "pcie.link.gen.hostmax"}) {
    table.add(name, "",
              [](const Gpu& gpu, std::size_t) { return pcie_generation(gpu.pci.max_speed); });
  }
  table.add("pcie.link.width.current", "",
            [](const Gpu& gpu, std::size_t) { return fmt::format("{}", gpu.pci.width); });
  table.add("pcie.link.width.max", "",
            [](const Gpu& gpu, std::size_t) { return fmt::format("{}", gpu.pci.max_width); });
}

void add_modes(const Hardware& hardware, QueryTable& table) {
  const GpuModel& model = hardware.model;
  table.same("display_mode|display_attached", "", "Disabled");
  table.same("display_active", "", "Disabled");
  table.add("persistence_mode", "",
            [](const Gpu& gpu, std::size_t) { return gpu.persistence ? "Enabled" : "Disabled"; });
  table.same("accounting.mode", "", "Disabled");
  table.add("compute_mode", "", [](const Gpu& gpu, std::size_t) { return gpu.compute_mode; });
  table.same("pstate", "", "P0");
  for (const char* name : {"mig.mode.current", "mig.mode.pending"}) {
    table.add(name, "", [&](const Gpu& gpu, std::size_t) {
      if (!model.mig) return kNotAvailable;
      return std::string_view(gpu.mig ? "Enabled" : "Disabled");
    });
  }
  const std::string state = hardware.fabric_manager ? "Completed" : "In Progress";
  table.same_if(model.fabric, "fabric.state", "", state);
  table.same_if(model.fabric && hardware.fabric_manager, "fabric.status", "", "Success");
}

void add_clock_reasons(QueryTable& table) {
  constexpr std::pair<std::string_view, unsigned> kReasons[] = {
      {"gpu_idle", 0x1},
      {"applications_clocks_setting", 0x2},
      {"sw_power_cap", 0x4},
      {"hw_slowdown", 0x8},
      {"sync_boost", 0x10},
      {"sw_thermal_slowdown", 0x20},
      {"hw_thermal_slowdown", 0x40},
      {"hw_power_brake_slowdown", 0x80}};
  const auto both = [](std::string_view name) {
    return fmt::format("clocks_event_reasons.{0}|clocks_throttle_reasons.{0}", name);
  };
  table.same(both("supported"), "", "0x00000000000001FF");
  table.add(both("active"), "", [](const Gpu& gpu, std::size_t) {
    return fmt::format("0x{:016X}", gpu.clock_reasons);
  });
  for (const auto& reason : kReasons) {
    table.add(both(reason.first), "", [&](const Gpu& gpu, std::size_t) {
      return (gpu.clock_reasons & reason.second) != 0 ? "Active" : "Not Active";
    });
  }
}

void add_memory(const Hardware& hardware, QueryTable& table) {
  const GpuModel& model = hardware.model;
  const bool has = model.memory_mib > 0;
  const auto amount = [&](std::string_view name, const auto& value) {
    table.add(name, "MiB", [&](const Gpu& gpu, std::size_t) {
      return has ? fmt::format("{}", value(gpu)) : std::string(kNotAvailable);
    });
  };
  amount("memory.total", [&](const Gpu&) { return model.memory_mib; });
  amount("memory.reserved", [](const Gpu&) { return 551; });
  amount("memory.used", [](const Gpu& gpu) { return used_mib(gpu); });
  amount("memory.free", [&](const Gpu& gpu) { return model.memory_mib - 551 - used_mib(gpu); });
  table.same("utilization.gpu", "%", "0");
  table.same_if(has, "utilization.memory", "%", "0");
}

void add_health(const Hardware& hardware, QueryTable& table) {
  const GpuModel& model = hardware.model;
  for (const char* name : {"ecc.mode.current", "ecc.mode.pending"}) {
    table.same_if(model.ecc, name, "", "Enabled");
  }
  for (const char* kind : {"corrected", "uncorrected"}) {
    for (const char* span : {"volatile", "aggregate"}) {
      const bool counts = std::string_view(kind) == "uncorrected";
      for (const char* part : {"device_memory", "dram", "sram", "total"}) {
        table.add(fmt::format("ecc.errors.{}.{}.{}", kind, span, part), "",
                  [&](const Gpu& gpu, std::size_t) {
                    if (!model.ecc) return std::string(kNotAvailable);
                    const bool here = counts && std::string_view(part) != "sram";
                    return fmt::format("{}", here ? gpu.ecc_uncorrected : 0);
                  });
      }
    }
  }
  for (const char* name :
       {"retired_pages.single_bit_ecc.count|retired_pages.sbe",
        "retired_pages.double_bit.count|retired_pages.dbe", "retired_pages.pending"}) {
    table.same(name, "", kNotAvailable);  // GPUs from the A100 on remap rows instead
  }
  const auto rows = [&](std::string_view name, const auto& value) {
    table.add(name, "", [&](const Gpu& gpu, std::size_t) {
      return model.ecc ? std::string(value(gpu)) : std::string(kNotAvailable);
    });
  };
  rows("remapped_rows.correctable", [](const Gpu&) { return "0"; });
  rows("remapped_rows.uncorrectable",
       [](const Gpu& gpu) { return gpu.remap_pending || gpu.remap_failed ? "1" : "0"; });
  rows("remapped_rows.pending", [](const Gpu& gpu) { return gpu.remap_pending ? "Yes" : "No"; });
  rows("remapped_rows.failure", [](const Gpu& gpu) { return gpu.remap_failed ? "Yes" : "No"; });
}

void add_sensors(const Hardware& hardware, QueryTable& table) {
  const int limit = hardware.model.power_limit_watts;
  table.same("fan.speed", "%", kNotAvailable);
  table.add("temperature.gpu", "", [](const Gpu& gpu, std::size_t i) {
    return fmt::format("{}", (gpu.clock_reasons & 0x40U) != 0 ? 91 : 29 + i);
  });
  table.same_if(limit > 0, "temperature.memory", "", "45");
  table.same("power.draw", "W", limit > 0 ? "71.20" : "4.10");
  for (const char* name :
       {"power.limit", "enforced.power.limit", "power.default_limit", "power.max_limit"}) {
    table.same_if(limit > 0, name, "W", fmt::format("{}.00", limit));
  }
  const auto clock = [&](std::string_view names, const char* healthy) {
    table.add(names, "MHz", [&](const Gpu& gpu, std::size_t) {
      return (gpu.clock_reasons & 0xe8U) != 0 ? "345" : healthy;
    });
  };
  clock("clocks.current.graphics|clocks.gr", "1980");
  clock("clocks.current.sm|clocks.sm", "1980");
  table.same("clocks.max.graphics|clocks.max.gr", "MHz", "1980");
  table.same("clocks.max.sm", "MHz", "1980");
}

std::string gpu_table(const Hardware& hardware) {
  QueryTable table(hardware);
  add_identity(hardware, table);
  add_pcie(table);
  add_modes(hardware, table);
  add_clock_reasons(table);
  add_memory(hardware, table);
  add_health(hardware, table);
  add_sensors(hardware, table);
  return table.text();
}

// A table in the form of QueryTable, but with one value per process.
std::string apps_table(const Hardware& hardware) {
  const auto row = [&](std::string_view names, std::string_view unit, const auto& value) {
    std::string text = fmt::format("{}\t{}", names, unit);
    for (const Gpu& gpu : hardware.gpus) {
      for (const GpuProcess& process : gpu.processes) {
        text += fmt::format("\t{}", value(gpu, process));
      }
    }
    return text + "\n";
  };
  return row("gpu_name", "", [&](const Gpu&, const GpuProcess&) { return hardware.model.name; }) +
         row("gpu_bus_id", "",
             [](const Gpu& gpu, const GpuProcess&) { return long_bus_id(gpu.pci.address); }) +
         row("gpu_uuid", "", [](const Gpu& gpu, const GpuProcess&) { return gpu.uuid; }) +
         row("gpu_serial", "", [](const Gpu& gpu, const GpuProcess&) { return gpu.serial; }) +
         row("pid", "", [](const Gpu&, const GpuProcess& process) { return process.pid; }) +
         row("process_name|name", "",
             [](const Gpu&, const GpuProcess& process) { return process.name; }) +
         row("used_gpu_memory|used_memory", "MiB",
             [](const Gpu&, const GpuProcess& process) { return process.memory_mib; });
}

std::string gpu_title(const Hardware& hardware, std::size_t i) {
  return fmt::format("GPU {}: {} (UUID: {})\n", i, hardware.model.name, hardware.gpus[i].uuid);
}

std::string link_states(const Hardware& hardware) {
  std::string text;
  for (std::size_t i = 0; i < hardware.gpus.size() && hardware.model.links > 0; ++i) {
    text += gpu_title(hardware, i);
    for (int link = 0; link < hardware.model.links; ++link) {
      const bool up =
          hardware.fabric_manager == hardware.model.fabric && link >= hardware.gpus[i].links_down;
      text += fmt::format("\t Link {}: {}\n", link,
                          up ? hardware.model.link_speed + " GB/s" : "<inactive>");
    }
  }
  return text;
}

std::string summary(const Hardware& hardware) {
  const GpuModel& model = hardware.model;
  const std::string line = fmt::format("+{:-<89}+\n", "");
  std::string text =
      fmt::format("{0}| NVIDIA-SMI {1:<22} Driver Version: {1:<14} CUDA Version: {2:<8} |\n{0}",
                  line, model.driver, model.runtime);
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    const Gpu& gpu = hardware.gpus[i];
    const std::string memory = model.memory_mib > 0
                                   ? fmt::format("{}MiB / {}MiB", used_mib(gpu), model.memory_mib)
                                   : "Not Supported";
    text += fmt::format("| {:>3}  {:<32} {:<4} {:<17} {:<25} |\n", i, model.name,
                        gpu.persistence ? "On" : "Off", long_bus_id(gpu.pci.address), memory);
  }
  text += line;
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    for (const GpuProcess& process : hardware.gpus[i].processes) {
      text += fmt::format("| {:>3}  {:>10}   C   {:<48} {:>10}MiB |\n", i, process.pid,
                          process.name, process.memory_mib);
    }
  }
  return text;
}

// How far apart two devices are, in the terms of nvidia-smi.
std::string_view distance(const PciDevice& a, const PciDevice& b) {
  if (a.address.substr(0, 10) == b.address.substr(0, 10)) return "PIX";
  if (!a.bridges.empty() && !b.bridges.empty() && a.bridges.front() == b.bridges.front()) {
    return "PXB";
  }
  return a.numa == b.numa ? "NODE" : "SYS";
}

std::string topology(const Hardware& hardware, int cpus) {
  std::vector<std::pair<std::string, const PciDevice*>> all;
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    all.emplace_back(fmt::format("GPU{}", i), &hardware.gpus[i].pci);
  }
  for (std::size_t i = 0; i < hardware.rdma.size(); ++i) {
    all.emplace_back(fmt::format("NIC{}", i), &hardware.rdma[i].pci);
  }
  std::string text;
  for (const auto& [name, device] : all) text += "\t" + name;
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += all[i].first;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const bool both_gpus = std::max(i, j) < hardware.gpus.size() && hardware.model.links > 0;
      text += i == j      ? "\t X "
              : both_gpus ? fmt::format("\tNV{}", hardware.model.links)
                          : fmt::format("\t{}", distance(*all[i].second, *all[j].second));
    }
    if (i < hardware.gpus.size()) {
      const int numa = all[i].second->numa;
      text += fmt::format("\t{}\t{}\t\tN/A", cpu_list(numa, hardware.numa_nodes, cpus), numa);
    }
    text += "\n";
  }
  text += "\nNIC Legend:\n\n";
  for (std::size_t i = 0; i < hardware.rdma.size(); ++i) {
    text += fmt::format("  NIC{}: {}\n", i, hardware.rdma[i].name);
  }
  return text;
}

// Returns what nvidia-smi prints instead of an answer, and its exit code. The text is empty if it
// answers.
std::pair<std::string, int> refusal(const Hardware& hardware) {
  if (hardware.tool == ToolState::kMismatch) {
    return {"Failed to initialize NVML: Driver/library version mismatch", 18};
  }
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    const PciDevice& pci = hardware.gpus[i].pci;
    if (pci.answers) continue;
    return {fmt::format("Unable to determine the device handle for GPU{}: {}: Unknown Error", i,
                        long_bus_id(pci.address).substr(4)),
            255};
  }
  return {"", 0};
}

std::string document(std::string_view function, const std::string& text) {
  return fmt::format("{}() {{ cat <<'END'\n{}END\n}}\n", function, text);
}

}  // namespace

std::string nvidia_smi_script(const Hardware& hardware, int cpus) {
  std::string list;
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) list += gpu_title(hardware, i);
  const auto [words, code] = refusal(hardware);
  return fmt::format(
             "#!/bin/sh\n# Made by muster lab from the profile {}.\n"
             "hangs={}\nrefusal='{}'\nrefusal_code={}\n",
             hardware.name, hardware.tool == ToolState::kHangs ? "yes" : "no", words, code) +
         document("gpu_table", gpu_table(hardware)) + document("apps_table", apps_table(hardware)) +
         document("list", list) + document("links", link_states(hardware)) +
         document("summary", summary(hardware)) + document("topology", topology(hardware, cpus)) +
         std::string(nvidia_smi_program());
}

void add_nvidia(const Hardware& hardware, Tree& tree) {
  const GpuModel& model = hardware.model;
  const std::string folder = "/proc/driver/nvidia";
  tree[folder + "/version"] = {
      .content = fmt::format("NVRM version: NVIDIA UNIX {}  {}  Release Build  "
                             "(dvs-builder@U22-I3-AE18-09-6)  Thu Jun 13 23:12:32 UTC 2024\n"
                             "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04) \n",
                             model.kernel_platform, model.driver)};
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    const Gpu& gpu = hardware.gpus[i];
    tree[fmt::format("{}/gpus/{}/information", folder, gpu.pci.address)] = {
        .content = fmt::format(
            "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t {}\n"
            "Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
            "Bus Location: \t {}\nDevice Minor: \t {}\nGPU Firmware: \t {}\nGPU Excluded:\t No\n",
            model.name, 18 + i, gpu.uuid, model.vbios, gpu.pci.address, i, model.driver)};
  }
  if (!model.fabric) return;
  for (const PciDevice& other : hardware.others) {
    if (other.driver != "nvidia-nvswitch") continue;
    tree[fmt::format("/proc/driver/nvidia-nvswitch/devices/{}/information", other.address)] = {
        .content = fmt::format("BIOS Version: N/A\nBus Location: {}\n", other.address)};
  }
}

}  // namespace muster::lab
