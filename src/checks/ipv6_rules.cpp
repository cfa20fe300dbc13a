// What a job in an IPv6 network requires from the engine and the hosts.
#include <algorithm>

#include <fmt/format.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "engines/kind.hpp"
#include "layout/network.hpp"

namespace muster::checks {
namespace {

bool needs_ipv6(const layout::Layout& layout) {
  return layout::is_ipv6(layout.subnet) || layout::is_ipv6(layout.launcher_subnet);
}

Findings refuse_engine(const Scene& scene) {
  const layout::Engine& chosen = scene.layout.engine;
  const engines::Kind& engine = engines::find(chosen.kind);
  if (engine.no_ipv6.empty()) return {};
  const bool is_ranks_network = layout::is_ipv6(scene.layout.subnet);
  return {{.id = std::string(kEngineWithoutIpv6),
           .severity = Severity::kError,
           .what = fmt::format("{} cannot start ranks over IPv6: {}",
                               engines::name_of(chosen.kind, chosen.version), engine.no_ipv6),
           .evidence =
               fmt::format("{} {}",
                           is_ranks_network ? "the hosts share no IPv4 network, only"
                                            : "this machine reaches the hosts through",
                           is_ranks_network ? scene.layout.subnet : scene.layout.launcher_subnet),
           .fix = "use --engine torchrun, or Open MPI or Intel MPI with --engine openmpi or "
                  "--engine intel; or give all hosts and this machine IPv4 addresses in one "
                  "network"}};
}

// Rejects hosts that are listed by IPv6 addresses if the engine cannot take them. This does not
// depend on the job's network, because the engine gets the addresses from the host list.
Findings refuse_addresses(const Scene& scene) {
  const layout::Engine& chosen = scene.layout.engine;
  if (chosen.major >= engines::find(chosen.kind).ipv6_hosts_since) return {};
  std::vector<std::string> listed;
  for (const layout::Placement& one : scene.layout.placements) {
    if (!one.here && layout::is_ipv6(one.host)) listed.push_back(one.host);
  }
  if (listed.empty()) return {};
  return {{.id = std::string(kEngineWithoutIpv6),
           .severity = Severity::kError,
           .hosts = listed,
           .what = fmt::format("{} cannot start ranks on hosts that are listed by their IPv6 "
                               "addresses: its daemons crash",
                               engines::name_of(chosen.kind, chosen.version)),
           .fix = "list the hosts by names from DNS, /etc/hosts or ~/.ssh/config, or use Open MPI "
                  "5, Intel MPI or torchrun"}};
}

// Returns the address that Gloo uses if muster passes it an interface: the first one of the
// interface. The kernel lists IPv4 addresses first.
const facts::Address* address_of_gloo(const Participant& host) {
  for (const facts::Interface& interface : host.facts->interfaces) {
    if (interface.name != host.placement->interface || interface.addresses.empty()) continue;
    return &interface.addresses.front();
  }
  return nullptr;
}

Findings find_other_address(const Scene& scene) {
  const auto subnet = layout::parse_network(scene.layout.subnet);
  if (scene.layout.placements.size() < 2 || !subnet) return {};
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const facts::Address* const first = address_of_gloo(host);
    const auto ip = first == nullptr ? std::nullopt : layout::parse_ip(first->ip);
    if (!ip || ip->family == layout::Family::kIpv6) continue;
    findings.push_back(
        {.id = std::string(kGlooFirstAddress),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = fmt::format(
             "the hosts share only the IPv6 network {}, but Gloo in Python programs and Intel MPI "
             "use the IPv4 address of {}, which other hosts may not reach",
             scene.layout.subnet, host.placement->interface),
         .evidence = first->ip,
         .fix = "give the interfaces IPv4 addresses in one network, or remove their IPv4 "
                "addresses; programs that use libmuster are not affected"});
  }
  return findings;
}

}  // namespace

Findings find_ipv6(const Scene& scene) {
  Findings findings = refuse_addresses(scene);
  const auto add = [&](const Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  if (needs_ipv6(scene.layout)) add(refuse_engine(scene));
  if (layout::is_ipv6(scene.layout.subnet)) add(find_other_address(scene));
  return findings;
}

}  // namespace muster::checks
