// The same address on several hosts. An MPI then connects to the wrong host, and hangs.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "checks/rules.hpp"
#include "checks/shared_addresses.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "layout/network.hpp"
#include "layout/subnet.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

using Uses = std::vector<SharedAddresses::Use>;

bool leads_out(const SharedAddresses::Use& use) {
  return use.interface->kind == facts::InterfaceKind::kPort ||
         use.interface->kind == facts::InterfaceKind::kInfiniband;
}

std::string interface_names(const Uses& uses) {
  std::set<std::string> names;
  for (const auto& use : uses) names.insert(use.interface->name);
  return listed(std::vector(names.begin(), names.end()), 4);
}

bool are_one_machine(const Uses& uses) {
  return std::all_of(uses.begin(), uses.end(), [&](const auto& use) {
    return use.host->facts->hostname == uses.front().host->facts->hostname;
  });
}

Finding on_a_port(const std::string& address, const Uses& uses, bool is_the_jobs) {
  Finding finding{.id = std::string(kSameAddress),
                  .severity = is_the_jobs ? Severity::kError : Severity::kWarning};
  finding.what = fmt::format("{} hosts have the same address, {}", uses.size(), address);
  if (!is_the_jobs) finding.what += ", outside the job's subnet";
  finding.evidence = "on " + interface_names(uses);
  if (are_one_machine(uses)) {
    finding.evidence +=
        fmt::format("; all have the host name {}", uses.front().host->facts->hostname);
  }
  finding.fix =
      are_one_machine(uses)
          ? "if they are one machine under several names, list it once"
          : "give each host an address of its own; to see which host answers:\n  arping -c 3 -I " +
                sys::quote(std::string_view(uses.front().interface->name)) + " " + address;
  return finding;
}

// Returns the flag that a user of mpirun would have to pass without muster, for the evidence.
std::string bare_mpirun(const layout::Layout& layout) {
  const engines::Kind& engine = engines::find(layout.engine.kind);
  if (engine.network_flag.empty()) return "";
  return fmt::format("; without muster, {} needs {} {} or it hangs", engine.launchers.front(),
                     engine.network_flag, layout.subnet);
}

Finding on_a_bridge(const std::string& address, const Uses& uses, const layout::Layout& layout) {
  const std::string& subnet = layout.subnet;
  const bool is_avoided = !subnet.empty();
  return {.id = std::string(kSameVirtualAddress),
          .severity = is_avoided ? Severity::kNote : Severity::kWarning,
          .what = fmt::format("{} has the same address on {} hosts{}", interface_names(uses),
                              uses.size(), is_avoided ? "; muster does not use it" : ""),
          .evidence = address,
          .fix = is_avoided ? fmt::format("nothing to do: muster restricts the engine to {}{}",
                                          subnet, bare_mpirun(layout))
                            : "to keep Open MPI from using it: --mca btl_tcp_if_include SUBNET"};
}

// Finds hosts that have an address of this machine: other ranks would connect to this machine
// instead. Checks only MPIs, because only these start their daemons from this machine. With other
// engines, this machine may be in an unrelated network in which the same addresses are used.
Findings find_addresses_of_this_machine(const Scene& scene, std::span<const Participant> hosts) {
  if (!engines::find(scene.layout.engine.kind).is_mpi) return {};
  std::set<layout::Ip> own;
  for (const layout::Door& door : layout::doors(scene.launcher)) own.insert(door.address);
  Findings findings;
  for (const Participant& host : hosts) {
    const auto ip = layout::parse_ip(host.placement->address);
    const bool is_here = host.placement->here || host.facts->hostname == scene.launcher.hostname;
    if (is_here || !ip || !own.contains(*ip)) continue;
    findings.push_back({.id = std::string(kSameAddress),
                        .severity = Severity::kError,
                        .hosts = {host.name()},
                        .what = fmt::format("the host reports {}, which is an address of this "
                                            "machine",
                                            host.placement->address),
                        .evidence = "on " + host.placement->interface,
                        .fix = "if it is this machine, list it as localhost; otherwise give the "
                               "host an address of its own"});
  }
  return findings;
}

}  // namespace

Findings find_same_address(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  const SharedAddresses shared(hosts);
  const auto subnet = layout::parse_network(scene.layout.subnet);
  Findings findings = find_addresses_of_this_machine(scene, hosts);
  for (const auto& [ip, uses] : shared.all()) {
    const std::string address = layout::to_text(ip);
    const auto ports = std::count_if(uses.begin(), uses.end(), leads_out);
    if (ports == 0) {
      findings.push_back(on_a_bridge(address, uses, scene.layout));
    } else {
      findings.push_back(on_a_port(address, uses, !subnet || layout::contains(*subnet, ip)));
    }
    for (const auto& use : uses) findings.back().hosts.push_back(use.host->name());
  }
  return findings;
}

}  // namespace muster::checks
