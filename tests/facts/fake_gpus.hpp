// Hosts with GPUs, simulated by folders and tools in the form of real drivers and tools. None of it
// was recorded on a GPU.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/gpus.hpp"
#include "facts/nvidia_smi.hpp"
#include "fake_tree.hpp"

namespace muster::facts {

// PCI buses of the GPUs on a board with eight; the first four are on NUMA node 0.
inline constexpr std::array<const char*, 8> kBuses = {"1b", "43", "52", "61",
                                                      "9d", "c3", "d1", "df"};

inline std::string uuid_of(std::size_t gpu) {
  return fmt::format("GPU-{:08x}-25c4-8456-a90c-1505e82394a2", gpu);
}

// One host. A test breaks something before it calls `read`.
class FakeGpuHost {
 public:
  FakeTree tree;
  // nvidia-smi's rows, in the order of wanted_fields()
  std::vector<std::vector<std::string>> rows = {};
  std::vector<std::string> refused = {};  // fields that this driver does not know
  std::string said = {};                  // printed by nvidia-smi before the rows
  std::string apps = {};
  std::string links = {};
  std::string listed = {};  // the output of -L
  std::string remaps = {};
  int code = 0;
  int listed_code = 0;
  bool has_tool = true;

  [[nodiscard]] std::string pci(std::size_t gpu) const {
    return fmt::format("0000:{}:00.0", kBuses.at(gpu));
  }
  [[nodiscard]] std::string folder(std::size_t gpu) const {
    return "sys/bus/pci/devices/" + pci(gpu);
  }

  std::string& cell(std::size_t gpu, const std::string& field) {
    const SmiFields fields = wanted_fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] == field) return rows.at(gpu).at(i);
    }
    throw std::out_of_range(field);
  }

  void add_pci(std::size_t gpu, const char* vendor, const char* device_class) {
    tree.write(folder(gpu) + "/vendor", fmt::format("{}\n", vendor));
    tree.write(folder(gpu) + "/class", fmt::format("{}\n", device_class));
    tree.write(folder(gpu) + "/numa_node", gpu < 4 ? "0\n" : "1\n");
    tree.write(folder(gpu) + "/local_cpulist", gpu < 4 ? "0-55,112-167\n" : "56-111,168-223\n");
    tree.write(folder(gpu) + "/current_link_width", "16\n");
    tree.write(folder(gpu) + "/max_link_width", "16\n");
    tree.write(folder(gpu) + "/max_link_speed", "32.0 GT/s PCIe\n");
  }

  void add_nvidia(std::size_t gpu) {
    add_pci(gpu, "0x10de", "0x030200");
    tree.write(
        "proc/driver/nvidia/gpus/" + pci(gpu) + "/information",
        fmt::format("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 58\nGPU UUID: \t {}\n"
                    "Video BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
                    "DMA Mask: \t 0xfffffffffffff\nBus Location: \t {}\nDevice Minor: \t {}\n"
                    "GPU Firmware: \t 535.129.03\nGPU Excluded:\t No\n",
                    uuid_of(gpu), pci(gpu), gpu));
    rows.emplace_back(wanted_fields().size(), "[N/A]");
    const std::size_t row = rows.size() - 1;
    const std::pair<const char*, std::string> values[] = {
        {"index", std::to_string(row)},
        {"name", "NVIDIA H100 80GB HBM3"},
        {"uuid", uuid_of(gpu)},
        {"pci.bus_id", fmt::format("00000000:{}:00.0", kBuses.at(gpu))},
        {"driver_version", "535.129.03"},
        {"memory.total", "81559"},
        {"memory.used", "4"},
        {"mig.mode.current", "Disabled"},
        {"persistence_mode", "Enabled"},
        {"compute_mode", "Default"},
        {"ecc.errors.uncorrected.volatile.total", "0"},
        {"retired_pages.pending", "[N/A]"},
        {"remapped_rows.pending", "No"},
        {"remapped_rows.failure", "No"},
        {"clocks_event_reasons.active", "0x0000000000000001"},
        {"pcie.link.gen.max", "5"},
        {"pcie.link.width.current", "16"},
        {"pcie.link.width.max", "16"},
        {"fabric.state", "Completed"}};
    for (const auto& [field, value] : values) cell(row, field) = value;
    links += fmt::format("GPU {}: NVIDIA H100 80GB HBM3 (UUID: {})\n", row, uuid_of(gpu));
    for (int link = 0; link < 18; ++link) links += fmt::format("\t Link {}: 26.562 GB/s\n", link);
  }

  void add_driver() {
    tree.write(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC "
        "2023\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n");
    tree.write("dev/kmsg", "");
  }

  // Writes a tool that answers muster's questions like nvidia-smi.
  void write_tool() {
    const std::string answers = tree.root() + "/answers";
    std::string text = said;
    for (const auto& row : rows) text += fmt::format("{}\n", fmt::join(row, "|"));
    tree.write("answers/rows", text);
    tree.write("answers/fields", fmt::format("{}\n", fmt::join(wanted_fields(), "\n")));
    tree.write("answers/refused", fmt::format("{}\n", fmt::join(refused, "\n")));
    tree.write("answers/apps", apps);
    tree.write("answers/links", links);
    tree.write("answers/listed", listed);
    tree.write("answers/remaps", remaps);
    tree.write("bin/nvidia-smi",
               fmt::format(R"(#!/usr/bin/python3
import sys
def text(name): return open("{0}/" + name).read()
asked = sys.argv[1]
open("{0}/calls", "a").write(" ".join(sys.argv[1:]) + "\n")
if asked.startswith("--query-gpu="):
    known = text("fields").split() + ["clocks_throttle_reasons.active"]
    names = asked.split("=", 1)[1].split(",")
    for name in names:
        if name in text("refused").split() or name not in known:
            print(f'Field "{{name}}" is not a valid field to query.\n')
            sys.exit(2)
    order = text("fields").split()
    for line in text("rows").splitlines():
        cells = line.split("|")
        if len(cells) < 2:
            print(line)
            continue
        print(", ".join(cells[order.index(name.replace("throttle", "event"))] for name in names))
    sys.exit({1})
files = {{"--query-compute-apps": "apps", "nvlink": "links", "-L": "listed", "--query-remapped-rows": "remaps"}}
print(text(files[asked.split("=")[0]]), end="")
sys.exit({2} if asked == "-L" else 0)
)",
                           answers, code, listed_code),
               0755);
  }

  [[nodiscard]] GpuSources sources() const {
    return {.proc = tree.root() + "/proc",
            .sys = tree.root() + "/sys",
            .dev = tree.root() + "/dev",
            .rocm = tree.root() + "/opt/rocm",
            .path = tree.root() + "/bin",
            .deadline = kDeadline};
  }

  [[nodiscard]] GpuReport read() {
    if (has_tool && !rows.empty()) write_tool();
    return read_gpus(sources());
  }
};

// Eight H100 GPUs with NVSwitches.
inline void make_h100_host(FakeGpuHost& host) {
  host.add_driver();
  for (std::size_t gpu = 0; gpu < kBuses.size(); ++gpu) host.add_nvidia(gpu);
  for (const char* bus : {"05", "06", "07", "08"}) {
    const std::string folder = fmt::format("sys/bus/pci/devices/0000:{}:00.0", bus);
    host.tree.write(folder + "/vendor", "0x10de\n");
    host.tree.write(folder + "/class", "0x068000\n");
  }
  host.tree.write("proc/4242/comm", "nv-fabricmanage\n");
}

}  // namespace muster::facts
