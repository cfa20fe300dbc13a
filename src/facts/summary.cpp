#include "facts/summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/rdma.hpp"

namespace muster::facts {
namespace {

// Adds a line with name and text, such that all texts begin in the same column.
void add(std::string& lines, std::string_view name, const std::string& text) {
  lines += fmt::format("{:<12}{}\n", name, printable(text));
}

std::string memory_or_none(std::int64_t bytes) {
  return bytes < 0 ? "none" : memory_text(bytes);
}

std::string limit_text(const Limit& limit, bool is_bytes) {
  const auto one = [is_bytes](std::int64_t value) {
    if (value < 0) return std::string("unlimited");
    return is_bytes ? memory_text(value) : fmt::format("{}", value);
  };
  return limit.soft == limit.hard ? one(limit.soft)
                                  : fmt::format("{} (hard {})", one(limit.soft), one(limit.hard));
}

std::string gpu_text(const Gpu& gpu) {
  std::string text = gpu.problem.empty() ? fmt::format("{}: {}", gpu.index, gpu.model) : gpu.model;
  if (!gpu.pci.empty()) text += ", " + gpu.pci;
  if (!gpu.problem.empty()) return text + ": " + gpu.problem;
  if (gpu.numa_node >= 0) text += fmt::format(", NUMA node {} (CPUs {})", gpu.numa_node, gpu.cpus);
  if (gpu.memory_bytes > 0) text += ", " + memory_text(gpu.memory_bytes);
  if (gpu.pcie_width > 0) text += fmt::format(", PCIe x{}", gpu.pcie_width);
  if (gpu.nvlinks_up >= 0) {
    text += fmt::format(", {} of {} NVLinks up", gpu.nvlinks_up, gpu.nvlinks_up + gpu.nvlinks_down);
  }
  if (gpu.mig.value_or(false)) text += fmt::format(", {} MIG devices", gpu.mig_devices.size());
  for (const GpuProcess& process : gpu.processes) {
    text += fmt::format(", used by process {} ({} of {})", process.pid,
                        process.command.empty() ? "?" : process.command,
                        process.user.empty() ? "?" : process.user);
  }
  return text;
}

void add_gpus(std::string& lines, const Facts& facts) {
  for (const Gpu& gpu : facts.gpus) add(lines, "GPU", gpu_text(gpu));
  const GpuDrivers& drivers = facts.gpu_drivers;
  if (!drivers.nvidia.empty()) {
    add(lines, "GPU driver",
        fmt::format("NVIDIA {}, CUDA {}", drivers.nvidia,
                    drivers.cuda.empty() ? "version not known" : drivers.cuda));
  }
  if (!drivers.amd.empty() || !drivers.rocm.empty()) {
    add(lines, "GPU driver", fmt::format("amdgpu {}, ROCm {}", drivers.amd, drivers.rocm));
  }
  if (!drivers.intel.empty()) add(lines, "GPU driver", drivers.intel);
}

void add_container(std::string& lines, const Container& container) {
  if (container.engine.empty()) return;
  std::string text = container.engine;
  if (!container.lacks.empty()) {
    text += fmt::format(", without the capabilities {}", fmt::join(container.lacks, ", "));
  }
  add(lines, "container", text);
}

void add_machine(std::string& lines, const Facts& facts) {
  add(lines, "host", fmt::format("{}, user {} ({})", facts.hostname, facts.user, facts.uid));
  add(lines, "system", fmt::format("{}, Linux {}", facts.os, facts.kernel));
  add_container(lines, facts.container);
  const Cpu& cpu = facts.cpu;
  add(lines, "processors",
      fmt::format("{} usable ({}), {} cores, {} NUMA node{}, {} {}", cpu.usable, cpu.affinity,
                  cpu.cores, cpu.numa_nodes, cpu.numa_nodes == 1 ? "" : "s", cpu.architecture,
                  cpu.model));
  add(lines, "", fmt::format("{}", fmt::join(cpu.isa, " ")));
  add(lines, "memory",
      fmt::format("{}; /dev/shm {}, {} free", memory_or_none(facts.memory_bytes),
                  memory_or_none(facts.shm_bytes), memory_or_none(facts.shm_free_bytes)));
  add_gpus(lines, facts);
  add(lines, "limits",
      fmt::format("{} open files, {} locked memory, {} processes",
                  limit_text(facts.limits.nofile, false), limit_text(facts.limits.memlock, true),
                  limit_text(facts.limits.nproc, false)));
}

std::string interface_text(const Interface& interface) {
  std::string text = fmt::format("{} ({}, {}), MTU {}", interface.name, to_text(interface.kind),
                                 interface.up ? "up" : "down", interface.mtu);
  if (interface.speed_mbit > 0) text += fmt::format(", {} Mbit/s", interface.speed_mbit);
  for (const Address& address : interface.addresses) {
    text += fmt::format(", {}/{}", address.ip, address.prefix);
  }
  return text;
}

// Returns "mlx5_0 port 1 (Ethernet, active), 100 Gb/sec (4X EDR), 4 GIDs, mlx5_core, NUMA node 0,
// eth2".
std::string rdma_text(const RdmaPort& port) {
  std::string text = fmt::format("{} port {} ({}, {}), {}, {} GID{}", port.device, port.port,
                                 link_name(port), port.active ? "active" : "not active", port.rate,
                                 port.gids.size(), port.gids.size() == 1 ? "" : "s");
  if (!port.driver.empty()) text += ", " + port.driver;
  if (port.numa_node >= 0) text += fmt::format(", NUMA node {}", port.numa_node);
  if (!port.interfaces.empty()) text += fmt::format(", {}", fmt::join(port.interfaces, ", "));
  return text;
}

std::string peer_memory_text(const PeerMemory& memory) {
  return fmt::format(
      "{}; dmabuf: {}",
      memory.module.empty() ? "no peer memory module is loaded" : memory.module + " is loaded",
      !memory.dmabuf ? "not known" : (*memory.dmabuf ? "yes" : "no"));
}

void add_network(std::string& lines, const Facts& facts) {
  for (const Interface& interface : facts.interfaces) {
    add(lines, "interface", interface_text(interface));
  }
  for (const Route& route : facts.routes) {
    add(lines, "route",
        fmt::format("{} by {}{}{}", route.destination, route.interface,
                    route.gateway.empty() ? "" : " to ", route.gateway));
  }
  add(lines, "own name",
      facts.own_name_resolves_to.empty()
          ? "not known"
          : fmt::format("{}", fmt::join(facts.own_name_resolves_to, ", ")));
  for (const RdmaPort& port : facts.rdma) {
    add(lines, "RDMA", rdma_text(port));
  }
  if (!facts.rdma.empty()) add(lines, "GPUDirect", peer_memory_text(facts.peer_memory));
  for (const Listener& listener : facts.listeners) {
    const std::string owner = listener.pid == 0 ? listener.user
                                                : fmt::format("{} ({}, process {})", listener.user,
                                                              listener.command, listener.pid);
    add(lines, "listens", fmt::format("port {} on {}: {}", listener.port, listener.address, owner));
  }
  add(lines, "ports",
      fmt::format("{} to {} are for outgoing connections", facts.port_range_first,
                  facts.port_range_last));
}

void add_program(std::string& lines, const Program& program) {
  if (program.path.empty()) {
    return add(
        lines, "program",
        program.name + (program.only_in_folder ? " is in the current directory, but not in PATH"
                                               : " does not exist"));
  }
  add(lines, "program",
      fmt::format("{}{}, {}", program.path, program.executable ? "" : " (not executable)",
                  program.identity.hash));
  if (program.libmpi) {
    add(lines, "",
        fmt::format("loads {}: {} {}", program.libmpi->path, program.libmpi_kind,
                    program.libmpi_version));
  }
  if (!program.torch.empty()) add(lines, "", "imports PyTorch " + program.torch);
  for (const std::string& name : program.missing_libraries) add(lines, "", name + " is missing");
  if (!program.missing_interpreter.empty()) {
    add(lines, "", "its interpreter " + program.missing_interpreter + " is missing");
  }
}

void add_loaded(std::string& lines, const Software& software) {
  const std::size_t packages = software.packages.size() + software.system_packages.size();
  if (!software.python.empty()) {
    add(lines, "",
        fmt::format("Python {} with {} package{}", software.python, packages,
                    packages == 1 ? "" : "s"));
  }
  const auto count = [&software](const auto& what) {
    return std::count_if(software.libraries.begin(), software.libraries.end(), what);
  };
  const auto remote = count([](const Library& one) { return one.remote; });
  const auto unread = count(
      [](const Library& one) { return !one.remote && !one.path.empty() && one.hash.empty(); });
  std::string text = fmt::format("loads {} libraries", software.libraries.size());
  if (unread > 0) text += fmt::format(", {} of them known by size and build-id only", unread);
  if (remote > 0) {
    text += fmt::format(", {} on a network file system, known by size and build-id only", remote);
  }
  if (!software.libraries.empty()) add(lines, "", text);
}

void add_software(std::string& lines, const Facts& facts) {
  if (!facts.torch.torchrun.empty()) {
    add(lines, "torch",
        fmt::format("{} with {}, {} threads by default",
                    facts.torch.version.empty() ? "version not known" : facts.torch.version,
                    facts.torch.torchrun, facts.torch.threads));
  }
  if (!facts.torch.backends.empty()) {
    add(lines, "", fmt::format("backends of oneCCL: {}", fmt::join(facts.torch.backends, ", ")));
  }
  for (const Mpi& mpi : facts.mpi) {
    add(lines, "MPI",
        fmt::format("{} {}: {}, {}", mpi.kind.empty() ? "unknown" : mpi.kind, mpi.version,
                    mpi.launcher, mpi.library.path));
  }
  if (facts.program) add_program(lines, *facts.program);
  if (facts.software) add_loaded(lines, *facts.software);
  for (const FileMode& file : facts.ssh_files) {
    if (!file.problem.empty()) add(lines, "ssh", file.path + ": " + file.problem);
  }
  const Environment& environment = facts.environment;
  if (environment.activated) {
    add(lines, "activation", fmt::format("changed {} variables", environment.digest.size()));
  }
  if (environment.failure.empty()) return;
  const auto said = split(environment.failure, '\n');
  for (std::size_t i = 0; i < said.size(); ++i) {
    add(lines, i == 0 ? "activation" : "", (i == 0 ? "failed: " : "") + std::string(said[i]));
  }
}

}  // namespace

const char* to_text(InterfaceKind kind) {
  switch (kind) {
    case InterfaceKind::kPort:
      return "port";
    case InterfaceKind::kLoopback:
      return "loopback";
    case InterfaceKind::kVirtual:
      return "virtual";
    case InterfaceKind::kTunnel:
      return "tunnel";
    case InterfaceKind::kInfiniband:
      return "infiniband";
  }
  return "";
}

std::string summary(const Facts& facts) {
  std::string lines;
  add_machine(lines, facts);
  add_network(lines, facts);
  add_software(lines, facts);
  for (const NotSeen& one : facts.not_seen) add(lines, "not seen", one.what + ": " + one.why);
  return lines;
}

}  // namespace muster::facts
