// Hosts that are containers: networks that only their machine can reach, and operations that their
// container engine forbids.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks/container_wording.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

// Whether the job's address is on a veth: this interface is in the container, and its other end is
// on a bridge of the container's machine.
bool is_bridged(const Participant& host) {
  const auto& all = host.facts->interfaces;
  return std::any_of(all.begin(), all.end(), [&](const facts::Interface& interface) {
    return interface.name == host.placement->interface && interface.made == "veth";
  });
}

bool on_several_machines(const std::vector<Participant>& hosts) {
  std::set<std::string_view> machines;
  for (const Participant& host : hosts) {
    const std::string& machine = host.facts->container.machine;
    machines.insert(is_container(*host.facts) ? machine : host.name());
  }
  return machines.size() > 1;
}

// Whether connections to this host were tried and all of them succeeded. From inside the container,
// overlay networks and routed pod networks look like a bridge, but they work.
bool was_reached(const Scene& scene, const Participant& host) {
  bool tried = false;
  for (const facts::Trial& trial : scene.trials) {
    if (trial.to >= scene.surveys.size() || scene.surveys[trial.to].host != host.name()) continue;
    if (trial.how == facts::Reached::kUntried) continue;
    tried = true;
    if (trial.how != facts::Reached::kYes) return false;
  }
  return tried;
}

bool was_tried(const Scene& scene, const Participant& host) {
  return std::any_of(scene.trials.begin(), scene.trials.end(), [&](const facts::Trial& trial) {
    return trial.to < scene.surveys.size() && scene.surveys[trial.to].host == host.name() &&
           trial.how != facts::Reached::kUntried;
  });
}

}  // namespace

Findings find_bridged_containers(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  Findings findings;
  if (!on_several_machines(hosts)) return findings;
  for (const Participant& host : hosts) {
    if (!is_container(*host.facts) || !is_bridged(host) || was_reached(scene, host)) continue;
    findings.push_back(
        {.id = std::string(kBridgedContainer),
         .severity = was_tried(scene, host) ? Severity::kError : Severity::kWarning,
         .hosts = {host.name()},
         .what = "the host is a container on a bridge of its machine, and other machines cannot "
                 "reach its address",
         .evidence = fmt::format("{} has {} in the container", host.placement->interface,
                                 host.placement->address),
         .fix = "give the containers the network of their machines; publishing ports is not "
                "enough, because ranks choose their ports themselves:\n  NETWORK=host "
                "./run-worker.sh\nor, without the bundle's scripts, add --network host"});
  }
  return findings;
}

// /sys shows the cards of the machine in all of its containers. Only /dev shows which of them this
// container may use.
Findings find_hidden_rdma(const Scene& scene) {
  Findings findings;
  if (scene.layout.placements.size() < 2 && scene.job.pods < 2) return findings;
  for (const Participant& host : participants(scene)) {
    if (!is_container(*host.facts) || host.facts->container.opens_rdma.value_or(true)) continue;
    if (!layout::has_active_port(*host.facts)) continue;
    findings.push_back({.id = std::string(kRdmaMissing),
                        .severity = Severity::kWarning,
                        .hosts = {host.name()},
                        .what = "the machine has RDMA, but the container cannot use it: NCCL and "
                                "MPI will use TCP without saying so",
                        .evidence = fmt::format("/sys/class/infiniband has {}, but the container "
                                                "cannot open any /dev/infiniband/uverbs*",
                                                host.facts->rdma.front().device),
                        .fix = rdma_fix(*host.facts)});
  }
  return findings;
}

// Open MPI copies data between ranks of a host by reading the other process's memory, which a
// container may forbid.
Findings find_capabilities(const Scene& scene) {
  Findings findings;
  if (!engines::find(scene.layout.engine.kind).is_mpi) return findings;
  for (const Participant& host : participants(scene)) {
    if (host.facts->container.reads_memory.value_or(true) || host.placement->ranks < 2) continue;
    findings.push_back(
        {.id = std::string(kMemoryOfPeers),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = "the container does not let ranks read each other's memory, which Open MPI uses "
                 "for large messages on one host",
         .evidence = host.facts->container.lacks.empty()
                         ? "process_vm_readv is not permitted"
                         : fmt::format("process_vm_readv is not permitted; the container lacks {}",
                                       fmt::join(host.facts->container.lacks, ", ")),
         .fix = start_again_with(*host.facts, "--cap-add=SYS_PTRACE")});
  }
  return findings;
}

}  // namespace muster::checks
