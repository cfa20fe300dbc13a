// Whether the hosts have a common network, and by which interfaces.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "checks/host_groups.hpp"
#include "checks/interface_variables.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/shared_addresses.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "hosts/fold.hpp"
#include "layout/network.hpp"
#include "layout/subnet.hpp"

namespace muster::checks {
namespace {

bool is_loopback(const std::string& address) {
  const auto ip = layout::parse_ip(address);
  return ip && layout::is_loopback(*ip);
}

std::string own_name_fix(const Participant& host) {
  const std::string fix = "give the host's name its own address in /etc/hosts or DNS";
  return host.placement->interface.empty() ? fix
                                           : "muster run is not affected, because it tells Gloo "
                                             "which interface to use; for other launchers, " +
                                                 fix;
}

// The networks through which hosts could reach each other, with the hosts in each.
using Reach = std::map<layout::Network, std::vector<std::string>>;

Reach reach_of(std::span<const Participant> hosts) {
  Reach reach;
  for (const Participant& host : hosts) {
    std::set<layout::Network> own;
    for (const layout::Door& door : layout::doors(*host.facts)) own.insert(door.network);
    for (const layout::Network& network : own) reach[network].push_back(host.name());
  }
  return reach;
}

std::string networks_of(const facts::Facts& facts) {
  std::vector<std::string> texts;
  for (const layout::Door& door : layout::doors(facts)) {
    texts.push_back(fmt::format("{}/{} ({})", layout::to_text(door.address), door.network.prefix,
                                door.interface->name));
  }
  return texts.empty() ? "no network that leads out of the host" : listed(texts, 4);
}

// Returns the hosts that are not in the network with the most hosts. If no two hosts share a
// network, returns all hosts.
std::vector<const Participant*> outsiders(std::span<const Participant> hosts, const Reach& reach) {
  const auto most = std::max_element(
      reach.begin(), reach.end(),
      [](const auto& one, const auto& two) { return one.second.size() < two.second.size(); });
  std::set<std::string_view> inside;
  if (most != reach.end() && most->second.size() > 1) {
    inside.insert(most->second.begin(), most->second.end());
  }
  std::vector<const Participant*> out;
  for (const Participant& host : hosts) {
    if (!inside.contains(host.name())) out.push_back(&host);
  }
  return out;
}

std::string shared_evidence(const Reach& reach) {
  std::vector<std::string> texts;
  for (const auto& [network, names] : reach) {
    if (names.size() > 1) texts.push_back(on_hosts(to_text(network), names));
  }
  return listed(texts, 4);
}

// muster passes the interface to every library, but does not override the user's variables.
std::string nothing_to_do(const Scene& scene) {
  const std::vector<std::string> set = interface_variables(scene.job);
  return set.empty()
             ? "nothing to do: muster passes each host's own interface name to Gloo, NCCL and the "
               "engine"
             : fmt::format("unset {}; muster then sets the right name on each host", listed(set));
}

Finding differing_names(const Scene& scene, const HostGroups& names) {
  std::vector<std::string> texts;
  for (const HostGroup& group : names.all()) texts.push_back(on_hosts(group.key, group.hosts));
  return {.id = std::string(kOtherInterface),
          .severity = Severity::kNote,
          .what = fmt::format("the hosts' interfaces in the network {} have different names",
                              scene.layout.subnet),
          .evidence = listed(texts),
          .fix = nothing_to_do(scene)};
}

// The virtual interfaces that muster avoids. Leaves out addresses that other hosts have too,
// because the rule same-address reports these.
std::vector<std::string> avoidable(const facts::Facts& facts, const SharedAddresses& shared) {
  std::vector<std::string> texts;
  for (const facts::Interface& interface : facts.interfaces) {
    const bool is_avoided = interface.kind == facts::InterfaceKind::kVirtual ||
                            interface.kind == facts::InterfaceKind::kTunnel;
    if (!interface.up || !is_avoided) continue;
    for (const facts::Address& address : interface.addresses) {
      const auto ip = layout::parse_ip(address.ip);
      if (!ip || layout::is_link_local(*ip) || layout::is_loopback(*ip)) continue;
      if (shared.contains(*ip)) continue;
      texts.push_back(interface.name);
      break;
    }
  }
  return texts;
}

}  // namespace

Findings find_own_name(const Scene& scene) {
  Findings findings;
  if (scene.layout.placements.size() < 2) return findings;
  for (const Participant& host : participants(scene)) {
    const auto& addresses = host.facts->own_name_resolves_to;
    if (!was_seen(*host.facts, "own_name")) continue;
    if (!addresses.empty() && !is_loopback(addresses.front())) continue;
    const bool is_unknown = addresses.empty();
    findings.push_back({.id = std::string(is_unknown ? kOwnNameUnknown : kOwnNameLoopback),
                        .severity = Severity::kWarning,
                        .hosts = {host.name()},
                        .what = is_unknown ? "the host cannot resolve its own name"
                                           : "the host's own name resolves to a loopback address, "
                                             "and Gloo would tell the other hosts to connect to it",
                        .evidence = is_unknown ? "no address" : addresses.front(),
                        .fix = own_name_fix(host)});
  }
  return findings;
}

Findings find_no_subnet(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  if (!scene.layout.subnet.empty() || hosts.size() < 2) return {};
  const Reach reach = reach_of(hosts);
  const std::vector<const Participant*> out = outsiders(hosts, reach);
  // All hosts are in one network, but some have the same address, which the rule same-address
  // reports.
  if (out.empty()) return {};
  Finding finding{.id = std::string(kNoCommonSubnet),
                  .severity = Severity::kError,
                  .what = "the hosts have no network in common",
                  .evidence = shared_evidence(reach),
                  .fix =
                      "connect these hosts to the network of the others ('ip addr' and 'ip route' "
                      "show what they have), or leave them out with --exclude"};
  std::vector<std::string> texts;
  for (const Participant* host : out) {
    finding.hosts.push_back(host->name());
    texts.push_back(fmt::format("{} has {}", host->name(), networks_of(*host->facts)));
  }
  if (!finding.evidence.empty()) finding.evidence += "; ";
  finding.evidence += listed(texts, 4);
  return {finding};
}

Findings find_interfaces(const Scene& scene) {
  if (scene.layout.subnet.empty() || scene.layout.placements.size() < 2) return {};
  HostGroups names;
  const std::vector<Participant> hosts = participants(scene);
  const SharedAddresses shared(hosts);
  Findings findings;
  for (const Participant& host : hosts) {
    names.add(host.placement->interface, host.name());
    const std::vector<std::string> avoided = avoidable(*host.facts, shared);
    if (avoided.empty()) continue;
    findings.push_back({.id = std::string(kOtherInterface),
                        .severity = Severity::kNote,
                        .hosts = {host.name()},
                        .what = fmt::format("muster does not use {}; traffic goes through {}",
                                            listed(avoided), scene.layout.subnet),
                        .fix = "nothing to do"});
  }
  if (names.all().size() > 1) findings.push_back(differing_names(scene, names));
  return findings;
}

}  // namespace muster::checks
