#include "checks/changes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "checks/gpu_wording.hpp"
#include "checks/participant.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "layout/network.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

using Changes = std::vector<Change>;

// A new kernel reserves a little more or less memory, and a default /dev/shm is half of it.
constexpr double kSameSize = 0.02;

struct Both {
  const facts::Facts& then;
  const facts::Facts& now;
};

void add_number(Part part, const char* aspect, const std::string& of, int then, int now,
                Changes& changes, const char* unit = "") {
  if (then == now) return;
  changes.push_back({.part = part,
                     .for_worse = now < then,
                     .aspect = aspect,
                     .of = of,
                     .now = fmt::format("{}{}", now, unit),
                     .then = fmt::format("{}{}", then, unit)});
}

// Of something that is neither better nor worse, only different.
void add_text(Part part, const char* aspect, const std::string& of, const std::string& then,
              const std::string& now, Changes& changes) {
  if (then == now || then.empty() || now.empty()) return;
  changes.push_back({.part = part, .aspect = aspect, .of = of, .now = now, .then = then});
}

void add_size(Part part, const char* aspect, std::int64_t then, std::int64_t now,
              Changes& changes) {
  const auto before = static_cast<double>(then);
  const auto after = static_cast<double>(now);
  if (std::max(before, after) - std::min(before, after) <= kSameSize * before) return;
  changes.push_back({.part = part,
                     .for_worse = after < before,
                     .aspect = aspect,
                     .now = bytes_text(now),
                     .then = bytes_text(then)});
}

void compare_memory(const Both& host, Changes& changes) {
  const std::int64_t then = host.then.memory_bytes;
  const std::int64_t now = host.now.memory_bytes;
  if (then > 0 && now > 0) add_size(Part::kMemory, "memory", then, now, changes);
}

std::vector<std::string> only_in(const std::vector<std::string>& some,
                                 const std::vector<std::string>& others) {
  const std::set<std::string> known(others.begin(), others.end());
  std::vector<std::string> missing;
  std::copy_if(some.begin(), some.end(), std::back_inserter(missing),
               [&](const std::string& one) { return !known.contains(one); });
  return missing;
}

void compare_cpus(const Both& host, Changes& changes) {
  const facts::Cpu& then = host.then.cpu;
  const facts::Cpu& now = host.now.cpu;
  if (then.cores <= 0 || now.cores <= 0) return;
  const auto number = [&](const char* aspect, int before, int after) {
    if (before > 0 && after > 0) add_number(Part::kCpus, aspect, "", before, after, changes);
  };
  add_text(Part::kCpus, "CPU model", "", then.model, now.model, changes);
  number("number of CPU cores", then.cores, now.cores);
  number("number of usable CPUs", then.usable, now.usable);
  number("number of NUMA nodes", then.numa_nodes, now.numa_nodes);
  if (then.isa.empty() || now.isa.empty()) return;
  const auto lost = only_in(then.isa, now.isa);
  const auto gained = only_in(now.isa, then.isa);
  if (lost.empty() && gained.empty()) return;
  changes.push_back({.part = Part::kCpus,
                     .for_worse = !lost.empty(),
                     .aspect = "CPU",
                     .now = lost.empty() ? "with " + listed(gained) : "without " + listed(lost),
                     .then = lost.empty() ? "without them" : "with them"});
}

// By its place on the PCI bus. Only a muster that could not read the bus gives none.
using GpusByPlace = std::map<std::string, const facts::Gpu*>;

GpusByPlace gpus_by_place(const facts::Facts& facts) {
  GpusByPlace gpus;
  for (const facts::Gpu& gpu : facts.gpus) {
    const std::string other_name = fmt::format("{} {}", gpu.vendor, gpu.index);
    gpus.emplace(gpu.pci.empty() ? other_name : gpu.pci, &gpu);
  }
  return gpus;
}

// Whether the vendor's tool has told something of it.
bool is_told(const facts::Gpu& gpu) {
  return gpu.problem.empty() && gpu.memory_bytes >= 0;
}

void compare_ecc(const std::string& name, const facts::Gpu& then, const facts::Gpu& now,
                 Changes& changes) {
  if (then.ecc_uncorrected < 0) return;
  Change change{.part = Part::kGpus, .for_worse = true, .of = name};
  if (now.ecc_uncorrected > then.ecc_uncorrected) {
    change.aspect = "number of uncorrectable memory errors";
    change.now = std::to_string(now.ecc_uncorrected);
    change.then = std::to_string(then.ecc_uncorrected);
  } else if (now.ecc_uncorrected < 0 && then.mig == now.mig) {  // MIG has counters of its own
    change.aspect = "error correction (ECC)";
    change.now = "not reported";
    change.then = "reported";
  } else {
    return;
  }
  changes.push_back(std::move(change));
}

void compare_gpu(const facts::Gpu& then, const facts::Gpu& now, Changes& changes) {
  const std::string name = gpu_name(then);
  if (then.problem.empty() && !now.problem.empty()) {
    changes.push_back({.part = Part::kGpus,
                       .for_worse = true,
                       .aspect = "state",
                       .of = name,
                       .now = "not usable: " + now.problem,
                       .then = "usable"});
    return;
  }
  const auto number = [&](const char* aspect, int before, int after) {
    if (before > 0 && after > 0) add_number(Part::kGpus, aspect, name, before, after, changes);
  };
  const auto mode = [&](const char* aspect, std::optional<bool> before, std::optional<bool> after) {
    const auto text = [](bool on) { return std::string(on ? "enabled" : "disabled"); };
    if (before && after) add_text(Part::kGpus, aspect, name, text(*before), text(*after), changes);
  };
  add_text(Part::kGpus, "model", name, then.model, now.model, changes);
  number("number of PCIe lanes", then.pcie_width, now.pcie_width);
  number("PCIe generation", then.pcie_gen_max, now.pcie_gen_max);
  if (!is_told(then) || !is_told(now)) return;
  compare_ecc(name, then, now, changes);
  if (then.nvlinks_up > 0 && now.nvlinks_up >= 0) {
    add_number(Part::kGpus, "number of NVLinks", name, then.nvlinks_up, now.nvlinks_up, changes);
  }
  mode("MIG mode", then.mig, now.mig);
  mode("persistence mode", then.persistence, now.persistence);
}

void compare_gpus(const Both& host, Changes& changes) {
  const GpusByPlace then = gpus_by_place(host.then);
  const GpusByPlace now = gpus_by_place(host.now);
  std::vector<std::string> lost;
  for (const auto& [place, gpu] : then) {
    const auto found = now.find(place);
    if (found == now.end()) {
      lost.push_back(place);
    } else {
      compare_gpu(*gpu, *found->second, changes);
    }
  }
  const bool fewer = now.size() < then.size();
  if (now.size() == then.size()) return;
  changes.push_back({.part = Part::kGpus,
                     .for_worse = fewer,
                     .aspect = "number of GPUs",
                     .now = fewer ? fmt::format("{} (none at {})", now.size(), listed(lost))
                                  : std::to_string(now.size()),
                     .then = std::to_string(then.size())});
}

using PortsByName = std::map<std::string, const facts::RdmaPort*>;

PortsByName ports_by_name(const facts::Facts& facts) {
  PortsByName ports;
  for (const facts::RdmaPort& port : facts.rdma) {
    ports.emplace(layout::port_name(port.device, port.port), &port);
  }
  return ports;
}

std::string state_of(const facts::RdmaPort& port) {
  if (port.active) return "active";
  return port.physical_state.empty() ? "not active"
                                     : fmt::format("not active ({})", port.physical_state);
}

void compare_port(const std::string& name, const facts::RdmaPort& then, const facts::RdmaPort& now,
                  Changes& changes) {
  const auto add = [&](bool for_worse, const char* aspect, const std::string& before,
                       const std::string& after) {
    changes.push_back({.part = Part::kRdma,
                       .for_worse = for_worse,
                       .aspect = aspect,
                       .of = name,
                       .now = after,
                       .then = before});
  };
  add_text(Part::kRdma, "firmware", name, then.firmware, now.firmware, changes);
  add_text(Part::kRdma, "link layer", name, then.link_layer, now.link_layer, changes);
  if (then.active != now.active) return add(then.active, "state", state_of(then), state_of(now));
  const double before = layout::gbit_of(then.rate);
  const double after = layout::gbit_of(now.rate);
  const bool have_rates = then.active && before > 0 && after > 0;
  if (have_rates && before != after) add(after < before, "rate", then.rate, now.rate);
}

void compare_rdma(const Both& host, Changes& changes) {
  const PortsByName then = ports_by_name(host.then);
  const PortsByName now = ports_by_name(host.now);
  const auto add_state = [&](const std::string& name, std::string before, std::string after) {
    changes.push_back({.part = Part::kRdma,
                       .for_worse = after == "missing",
                       .aspect = "state",
                       .of = name,
                       .now = std::move(after),
                       .then = std::move(before)});
  };
  for (const auto& [name, port] : then) {
    const auto found = now.find(name);
    if (found == now.end()) {
      add_state(name, state_of(*port), "missing");
    } else {
      compare_port(name, *port, *found->second, changes);
    }
  }
  for (const auto& [name, port] : now) {
    if (!then.contains(name)) add_state(name, "missing", state_of(*port));
  }
  const std::string& module = host.then.peer_memory.module;
  if (module.empty() || !host.now.peer_memory.module.empty()) return;
  changes.push_back({.part = Part::kRdma,
                     .for_worse = true,
                     .aspect = "module for GPUDirect RDMA",
                     .now = "not loaded",
                     .then = module});
}

// Those that stay: a temporary one is soon replaced by another.
std::vector<std::string> lasting_addresses(const facts::Interface& interface) {
  std::vector<std::string> addresses;
  for (const facts::Address& one : interface.addresses) {
    const auto ip = layout::parse_ip(one.ip);
    if (!ip || !one.caveat.empty() || layout::is_link_local(*ip)) continue;
    addresses.push_back(fmt::format("{}/{}", one.ip, one.prefix));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

// Bridges, tunnels and the interfaces of containers come and go.
bool is_lasting(const facts::Interface& interface) {
  const bool is_card = interface.kind == facts::InterfaceKind::kPort ||
                       interface.kind == facts::InterfaceKind::kInfiniband;
  return is_card && interface.up && !lasting_addresses(interface).empty();
}

void compare_interface(const facts::Interface& then, const facts::Interface* now,
                       Changes& changes) {
  const auto add = [&](bool for_worse, const char* aspect, std::string before, std::string after) {
    changes.push_back({.part = Part::kInterfaces,
                       .for_worse = for_worse,
                       .aspect = aspect,
                       .of = then.name,
                       .now = std::move(after),
                       .then = std::move(before)});
  };
  if (now == nullptr || !now->up) {
    return add(true, "state", "up", now == nullptr ? "missing" : "down");
  }
  if (then.mtu > 0 && now->mtu > 0) {
    add_number(Part::kInterfaces, "MTU", then.name, then.mtu, now->mtu, changes);
  }
  if (then.speed_mbit > 0 && now->speed_mbit > 0) {
    add_number(Part::kInterfaces, kInterfaceSpeed, then.name, then.speed_mbit, now->speed_mbit,
               changes, " Mbit/s");
  }
  const auto before = lasting_addresses(then);
  const auto after = lasting_addresses(*now);
  if (before == after) return;
  add(after.empty(), after.size() > 1 || before.size() > 1 ? "list of addresses" : "address",
      listed(before), after.empty() ? "missing" : listed(after));
}

void compare_interfaces(const Both& host, Changes& changes) {
  if (!was_seen(host.now, "interfaces")) return;
  std::map<std::string, const facts::Interface*> now;
  for (const facts::Interface& one : host.now.interfaces) now.emplace(one.name, &one);
  for (const facts::Interface& one : host.then.interfaces) {
    if (!is_lasting(one)) continue;
    const auto found = now.find(one.name);
    compare_interface(one, found == now.end() ? nullptr : found->second, changes);
  }
}

void compare_limit(const char* aspect, const facts::Limit& then, const facts::Limit& now,
                   bool in_bytes, Changes& changes) {
  if (then.soft == 0 || now.soft == 0) return;  // an older muster did not know it
  const auto height = [](std::int64_t value) {
    return value < 0 ? std::numeric_limits<std::int64_t>::max() : value;
  };
  const auto one_text = [&](std::int64_t value) {
    return value < 0 ? "unlimited" : in_bytes ? bytes_text(value) : std::to_string(value);
  };
  const auto text = [&](const facts::Limit& limit) {
    return limit.soft == limit.hard
               ? one_text(limit.soft)
               : fmt::format("{} (hard: {})", one_text(limit.soft), one_text(limit.hard));
  };
  if (then.soft == now.soft && then.hard == now.hard) return;
  changes.push_back(
      {.part = Part::kLimits,
       .for_worse = height(now.soft) < height(then.soft) || height(now.hard) < height(then.hard),
       .aspect = aspect,
       .now = text(now),
       .then = text(then)});
}

void compare_limits(const Both& host, Changes& changes) {
  const facts::Limits& then = host.then.limits;
  const facts::Limits& now = host.now.limits;
  compare_limit("limit of open files (ulimit -n)", then.nofile, now.nofile, false, changes);
  compare_limit("limit of locked memory (ulimit -l)", then.memlock, now.memlock, true, changes);
  compare_limit("limit of processes (ulimit -u)", then.nproc, now.nproc, false, changes);
  if (host.then.shm_bytes <= 0) return;
  if (host.now.shm_bytes > 0) {
    add_size(Part::kLimits, "/dev/shm", host.then.shm_bytes, host.now.shm_bytes, changes);
  } else {
    changes.push_back({.part = Part::kLimits,
                       .for_worse = true,
                       .aspect = "/dev/shm",
                       .now = "missing",
                       .then = bytes_text(host.then.shm_bytes)});
  }
}

std::string version_of(const facts::Mpi& mpi) {
  return mpi.version.empty() ? "" : engines::name_of(mpi.kind, mpi.version);
}

// An MPI or a PyTorch at another place is that of another environment, and no change.
void compare_software(const Both& host, Changes& changes) {
  const facts::Facts& then = host.then;
  const facts::Facts& now = host.now;
  const auto compare = [&](const char* aspect, const std::string& of, const std::string& before,
                           const std::string& after) {
    add_text(Part::kSoftware, aspect, of, before, after, changes);
  };
  compare("operating system", "", then.os, now.os);
  compare("kernel", "", then.kernel, now.kernel);
  compare("NVIDIA driver", "", then.gpu_drivers.nvidia, now.gpu_drivers.nvidia);
  compare("amdgpu driver", "", then.gpu_drivers.amd, now.gpu_drivers.amd);
  compare("ROCm version", "", then.gpu_drivers.rocm, now.gpu_drivers.rocm);
  for (const facts::Mpi& mpi : now.mpi) {
    const auto known = std::find_if(then.mpi.begin(), then.mpi.end(), [&](const facts::Mpi& one) {
      return one.launcher == mpi.launcher;
    });
    if (known == then.mpi.end()) continue;
    compare("MPI", mpi.launcher, version_of(*known), version_of(mpi));
  }
  if (then.torch.torchrun == now.torch.torchrun) {
    compare("PyTorch", now.torch.torchrun, then.torch.version, now.torch.version);
  }
}

}  // namespace

Changes changes_between(const facts::Facts& then, const facts::Facts& now) {
  const Both host{then, now};
  Changes changes;
  compare_memory(host, changes);
  compare_cpus(host, changes);
  compare_gpus(host, changes);
  compare_rdma(host, changes);
  compare_interfaces(host, changes);
  compare_limits(host, changes);
  compare_software(host, changes);
  return changes;
}

}  // namespace muster::checks
