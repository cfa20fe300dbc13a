#include "checks/changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "checks/container_wording.hpp"
#include "checks/gpu_wording.hpp"
#include "checks/participant.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "layout/network.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

using Changes = std::vector<Change>;

// Sizes that differ by at most this share count as equal. A new kernel reserves a little more or
// less memory, and the default size of /dev/shm and some default limits follow from the memory.
constexpr double kSameSize = 0.02;

bool is_same_size(std::int64_t then, std::int64_t now) {
  const auto before = static_cast<double>(then);
  return std::abs(static_cast<double>(now) - before) <= kSameSize * before;
}

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

// Adds a change that is neither for the better nor for the worse.
void add_text(Part part, const char* aspect, const std::string& of, const std::string& then,
              const std::string& now, Changes& changes) {
  if (then == now || then.empty() || now.empty()) return;
  changes.push_back({.part = part, .aspect = aspect, .of = of, .now = now, .then = then});
}

void add_size(Part part, const char* aspect, std::int64_t then, std::int64_t now,
              Changes& changes) {
  if (is_same_size(then, now)) return;
  changes.push_back({.part = part,
                     .for_worse = now < then,
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
  // Added instruction sets do not count, because a newer muster may recognise more of them.
  const auto lost = only_in(then.isa, now.isa);
  if (lost.empty()) return;
  changes.push_back({.part = Part::kCpus,
                     .for_worse = true,
                     .aspect = "CPU",
                     .now = "without " + listed(lost),
                     .then = "with them"});
}

// The key is the address on the PCI bus, or vendor and index if the address is not known. All
// partitions of an AMD GPU have the same address, so the second and later ones get a number as
// well.
using GpusByPlace = std::map<std::string, const facts::Gpu*>;

GpusByPlace gpus_by_place(const facts::Facts& facts) {
  GpusByPlace gpus;
  std::map<std::string, int> partitions;
  for (const facts::Gpu& gpu : facts.gpus) {
    std::string place = gpu.pci.empty() ? fmt::format("{} {}", gpu.vendor, gpu.index) : gpu.pci;
    const int partition = ++partitions[place];
    if (partition > 1) place += fmt::format(" partition {}", partition);
    gpus.emplace(std::move(place), &gpu);
  }
  return gpus;
}

// Which answers of the vendor's tool can be compared. If the tool did not answer, the values come
// from /proc and /sys, which may say something else about the same GPU.
struct Told {
  bool identity = false;  // model, PCIe generation
  bool health = false;    // memory errors, NVLinks, modes
};

Told told_of(const facts::Facts& facts, const facts::Gpu& gpu) {
  Told told{.identity = true, .health = gpu.problem.empty() && gpu.memory_bytes >= 0};
  if (gpu.vendor == "NVIDIA") told.identity = was_seen(facts, "gpus.nvidia-smi");
  if (gpu.vendor == "AMD") {
    told.identity = was_seen(facts, "gpus.amd-smi");
    told.health = told.health && was_seen(facts, "gpus.health");
  }
  told.health = told.health && told.identity;
  return told;
}

Told told_of_both(const Both& host, const facts::Gpu& then, const facts::Gpu& now) {
  const Told before = told_of(host.then, then);
  const Told after = told_of(host.now, now);
  return {.identity = before.identity && after.identity, .health = before.health && after.health};
}

void compare_ecc(const std::string& name, const facts::Gpu& then, const facts::Gpu& now,
                 Changes& changes) {
  if (then.ecc_uncorrected < 0) return;
  Change change{.part = Part::kGpus, .for_worse = true, .of = name};
  if (now.ecc_uncorrected > then.ecc_uncorrected) {
    change.aspect = "number of uncorrectable memory errors";
    change.now = std::to_string(now.ecc_uncorrected);
    change.then = std::to_string(then.ecc_uncorrected);
  } else if (now.ecc_uncorrected < 0 && then.mig == now.mig) {  // MIG has separate counters
    change.aspect = "error correction (ECC)";
    change.now = "not reported";
    change.then = "reported";
  } else {
    return;
  }
  changes.push_back(std::move(change));
}

void compare_gpu(const Both& host, const facts::Gpu& then, const facts::Gpu& now,
                 Changes& changes) {
  const std::string name = gpu_name(now);
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
  const Told told = told_of_both(host, then, now);
  if (told.identity) add_text(Part::kGpus, "model", name, then.model, now.model, changes);
  number("number of PCIe lanes", then.pcie_width, now.pcie_width);
  if (told.identity) number("PCIe generation", then.pcie_gen_max, now.pcie_gen_max);
  if (!told.health) return;
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
  std::vector<const facts::Gpu*> not_found, not_known;
  for (const auto& [place, gpu] : then) {
    const auto found = now.find(place);
    if (found == now.end()) {
      lost.push_back(place);
      not_found.push_back(gpu);
    } else {
      compare_gpu(host, *gpu, *found->second, changes);
    }
  }
  for (const auto& [place, gpu] : now) {
    if (!then.contains(place)) not_known.push_back(gpu);
  }
  // After a BIOS update or when cards were moved, the same GPUs may have other PCI addresses, but
  // keep their order.
  for (std::size_t i = 0; now.size() == then.size() && i < not_found.size(); ++i) {
    compare_gpu(host, *not_found[i], *not_known[i], changes);
  }
  if (now.size() == then.size()) return;
  const bool fewer = now.size() < then.size();
  const bool same_places = not_known.empty();
  changes.push_back({.part = Part::kGpus,
                     .for_worse = fewer,
                     .aspect = "number of GPUs",
                     .now = fewer && same_places
                                ? fmt::format("{} (none at {})", now.size(), listed(lost))
                                : std::to_string(now.size()),
                     .then = std::to_string(then.size())});
}

using PortsByKey = std::map<std::string, const facts::RdmaPort*>;

std::string port_name_of(const facts::RdmaPort& port) {
  return layout::port_name(port.device, port.port);
}

// Identifies a port by its PCI address, because the kernel numbers devices in the order in which it
// finds them and udev renames them. Empty for a software device.
std::string port_place_of(const facts::RdmaPort& port) {
  return port.pci_address.empty() ? "" : fmt::format("{} {}", port.pci_address, port.port);
}

PortsByKey ports_by(std::string (*key_of)(const facts::RdmaPort&),
                    const std::vector<const facts::RdmaPort*>& ports) {
  PortsByKey by_key;
  for (const facts::RdmaPort* const port : ports) {
    if (std::string key = key_of(*port); !key.empty()) by_key.emplace(std::move(key), port);
  }
  return by_key;
}

using PortPairs = std::vector<std::pair<const facts::RdmaPort*, const facts::RdmaPort*>>;

// Moves the ports with equal keys on both sides into `pairs`.
void pair_ports(std::string (*key_of)(const facts::RdmaPort&),
                std::vector<const facts::RdmaPort*>& then, std::vector<const facts::RdmaPort*>& now,
                PortPairs& pairs) {
  const PortsByKey by_key = ports_by(key_of, now);
  std::set<const facts::RdmaPort*> done;
  for (const auto& [key, port] : ports_by(key_of, then)) {
    const auto found = by_key.find(key);
    if (found == by_key.end()) continue;
    pairs.emplace_back(port, found->second);
    done.insert({port, found->second});
  }
  const auto is_done = [&](const facts::RdmaPort* port) { return done.contains(port); };
  std::erase_if(then, is_done);
  std::erase_if(now, is_done);
}

std::string state_of(const facts::RdmaPort& port) {
  if (port.active) return "active";
  return port.physical_state.empty() ? "not active"
                                     : fmt::format("not active ({})", port.physical_state);
}

void compare_port(const facts::RdmaPort& then, const facts::RdmaPort& now, Changes& changes) {
  const std::string name = port_name_of(now);
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

void compare_peer_memory(const Both& host, Changes& changes) {
  const std::string& module = host.then.peer_memory.module;
  if (module.empty() || !host.now.peer_memory.module.empty()) return;
  // Without RDMA ports no probe looks for the module, and with dmabuf no module is needed.
  if (host.now.rdma.empty() || host.now.peer_memory.dmabuf.value_or(false)) return;
  changes.push_back({.part = Part::kRdma,
                     .for_worse = true,
                     .aspect = "module for GPUDirect RDMA",
                     .now = "not loaded",
                     .then = module});
}

void compare_rdma(const Both& host, Changes& changes) {
  std::vector<const facts::RdmaPort*> then, now;
  for (const facts::RdmaPort& port : host.then.rdma) then.push_back(&port);
  for (const facts::RdmaPort& port : host.now.rdma) now.push_back(&port);
  PortPairs pairs;
  pair_ports(port_place_of, then, now, pairs);
  pair_ports(port_name_of, then, now, pairs);
  for (const auto& [before, after] : pairs) compare_port(*before, *after, changes);
  const auto add_state = [&](const facts::RdmaPort& port, std::string before, std::string after) {
    changes.push_back({.part = Part::kRdma,
                       .for_worse = after == "missing",
                       .aspect = "state",
                       .of = port_name_of(port),
                       .now = std::move(after),
                       .then = std::move(before)});
  };
  for (const facts::RdmaPort* const port : then) add_state(*port, state_of(*port), "missing");
  for (const facts::RdmaPort* const port : now) add_state(*port, "missing", state_of(*port));
  compare_peer_memory(host, changes);
}

// The addresses that other hosts may be able to reach: all but link-local ones.
std::vector<std::string> wide_addresses(const facts::Interface& interface) {
  std::vector<std::string> addresses;
  for (const facts::Address& one : interface.addresses) {
    const auto ip = layout::parse_ip(one.ip);
    if (!ip || layout::is_link_local(*ip)) continue;
    addresses.push_back(fmt::format("{}/{}", one.ip, one.prefix));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

// Whether the interface can be expected to stay. Virtual bridges, tunnels and the host's ends of
// its containers' interfaces come and go. Inside a container, a veth is the container's own
// interface, so it stays.
bool is_lasting(const facts::Interface& interface, bool in_container) {
  const bool is_card = interface.kind == facts::InterfaceKind::kPort ||
                       interface.kind == facts::InterfaceKind::kInfiniband;
  const bool is_other_end = interface.made == "veth" && !in_container;
  return is_card && !is_other_end && interface.up && !wide_addresses(interface).empty();
}

// Bridges take speed and MTU from their ports, which come and go with virtual machines.
bool has_own_speed(const facts::Interface& interface) {
  return interface.made != "bridge" && interface.made != "openvswitch";
}

// Reports addresses only if the interface has lost all of them. DHCP may assign other addresses at
// any time.
void compare_interface(const facts::Interface& then, const facts::Interface* now,
                       Changes& changes) {
  const auto add = [&](const char* aspect, std::string before, std::string after) {
    changes.push_back({.part = Part::kInterfaces,
                       .for_worse = true,
                       .aspect = aspect,
                       .of = then.name,
                       .now = std::move(after),
                       .then = std::move(before)});
  };
  if (now == nullptr || !now->up) {
    return add("state", "up", now == nullptr ? "missing" : "down");
  }
  if (has_own_speed(then) && then.mtu > 0 && now->mtu > 0) {
    add_number(Part::kInterfaces, "MTU", then.name, then.mtu, now->mtu, changes);
  }
  if (has_own_speed(then) && then.speed_mbit > 0 && now->speed_mbit > 0) {
    add_number(Part::kInterfaces, "speed", then.name, then.speed_mbit, now->speed_mbit, changes,
               " Mbit/s");
  }
  if (!wide_addresses(*now).empty()) return;
  const auto before = wide_addresses(then);
  add(before.size() > 1 ? "list of addresses" : "address", listed(before), "missing");
}

void compare_interfaces(const Both& host, Changes& changes) {
  if (!was_seen(host.now, "interfaces")) return;
  std::map<std::string, const facts::Interface*> now;
  for (const facts::Interface& one : host.now.interfaces) now.emplace(one.name, &one);
  for (const facts::Interface& one : host.then.interfaces) {
    if (!is_lasting(one, is_container(host.now))) continue;
    const auto found = now.find(one.name);
    compare_interface(one, found == now.end() ? nullptr : found->second, changes);
  }
}

bool is_same_limit(std::int64_t then, std::int64_t now) {
  return then < 0 || now < 0 ? then == now : is_same_size(then, now);
}

void compare_limit(const char* aspect, const facts::Limit& then, const facts::Limit& now,
                   bool in_bytes, Changes& changes) {
  if (then.soft == 0) return;  // saved by an older muster without this fact
  const auto is_lower = [](std::int64_t before, std::int64_t after) {
    return !is_same_limit(before, after) && after >= 0 && (before < 0 || after < before);
  };
  const auto one_text = [&](std::int64_t value) {
    return value < 0 ? "unlimited" : in_bytes ? bytes_text(value) : std::to_string(value);
  };
  const auto text = [&](const facts::Limit& limit) {
    return limit.soft == limit.hard
               ? one_text(limit.soft)
               : fmt::format("{} (hard: {})", one_text(limit.soft), one_text(limit.hard));
  };
  if (is_same_limit(then.soft, now.soft) && is_same_limit(then.hard, now.hard)) return;
  changes.push_back({.part = Part::kLimits,
                     .for_worse = is_lower(then.soft, now.soft) || is_lower(then.hard, now.hard),
                     .aspect = aspect,
                     .now = text(now),
                     .then = text(then)});
}

void compare_limits(const Both& host, Changes& changes) {
  const facts::Limits& then = host.then.limits;
  const facts::Limits& now = host.now.limits;
  // The soft limit of a host depends on how muster reached it, because muster raises its own soft
  // limit. So only hard limits are compared.
  const auto hard = [](const facts::Limit& limit) {
    return facts::Limit{.soft = limit.hard, .hard = limit.hard};
  };
  compare_limit("hard limit of open files (ulimit -Hn)", hard(then.nofile), hard(now.nofile), false,
                changes);
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

// Compares an MPI or PyTorch only with one at the same path. One at another path belongs to another
// environment, so the host itself has not changed.
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
