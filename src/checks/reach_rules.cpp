// Whether the hosts could connect to each other in the job's network.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "checks/reach_groups.hpp"
#include "checks/reach_wording.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

using Kind = ReachGroup::Kind;

// The hosts that most likely need a change.
HostNumbers concerned(const ReachGroup& group) {
  HostNumbers hosts = group.hosts;
  if (group.kind == Kind::kMutual) hosts.insert(group.others.begin(), group.others.end());
  if (group.kind != Kind::kEverybody) return hosts;
  for (const auto& [from, to] : group.pairs) hosts.insert({from, to});
  return hosts;
}

std::string blocked_what(const Reachability& reach, const ReachGroup& group) {
  switch (group.kind) {
    case Kind::kEverybody:
      return "the hosts cannot connect to each other, and the job would hang; ssh works";
    case Kind::kAround:
      return "the other hosts and this one cannot connect to each other, and the job would hang";
    case Kind::kInto:
      return "no other host can connect to this one, and the job would hang";
    case Kind::kOutOf:
      return "the host cannot connect to any other, and the job would hang";
    case Kind::kMutual:
      return fmt::format("{} and {} cannot connect to each other, and the job would hang",
                         reach.folded(group.others), reach.folded(group.hosts));
    case Kind::kOneWay:
      break;
  }
  return fmt::format("{} cannot connect to {}, and the job would hang", reach.folded(group.others),
                     reach.folded(group.hosts));
}

// Whether connections in the opposite direction were tried for all pairs and none was blocked.
bool works_backwards(const Reachability& reach, const ReachGroup& group) {
  return std::all_of(group.pairs.begin(), group.pairs.end(), [&](const HostPair& pair) {
    const HostPair back(pair.second, pair.first);
    return reach.tried().contains(back) && !reach.blocked().contains(back);
  });
}

std::string allow_outgoing(const std::string& subnet, const char* family) {
  return fmt::format(
      "let these hosts open connections into the job's network, with the firewall that they "
      "use:\n{}\n{}",
      command_on_hosts(fmt::format("sudo ufw allow out to {}", subnet)),
      command_on_hosts(fmt::format("sudo nft insert rule inet filter output {} daddr {} accept",
                                   family, subnet)));
}

// Opening a few ports is not enough, because Gloo, NCCL and MPI use ports that the kernel chooses.
std::string allow_incoming(const std::string& subnet, const char* family) {
  return fmt::format(
      "let these hosts accept all TCP connections from the job's network, with the firewall that "
      "they use:\n{}\n{}\n{}\nin a cloud, let their security group accept all traffic from "
      "itself",
      command_on_hosts(fmt::format("sudo ufw allow from {}", subnet)),
      command_on_hosts(
          fmt::format("sudo firewall-cmd --permanent --zone=trusted --add-source={} && "
                      "sudo firewall-cmd --reload",
                      subnet)),
      command_on_hosts(fmt::format("sudo nft insert rule inet filter input {} saddr {} accept",
                                   family, subnet)));
}

std::string firewall_fix(const Scene& scene, Kind kind) {
  const std::string& subnet = scene.layout.subnet;
  const char* const family = subnet.find(':') == std::string::npos ? "ip" : "ip6";
  return kind == Kind::kOutOf ? allow_outgoing(subnet, family) : allow_incoming(subnet, family);
}

std::string large_lost_what(const Reachability& reach, const ReachGroup& group) {
  constexpr const char* kBut = "but large ones do not, and the job would hang";
  switch (group.kind) {
    case Kind::kEverybody:
      return fmt::format("small packets pass between the hosts, {}", kBut);
    case Kind::kAround:
      return fmt::format("small packets pass between this host and the others, {}", kBut);
    case Kind::kInto:
      return fmt::format("small packets pass from the other hosts to this one, {}", kBut);
    case Kind::kOutOf:
      return fmt::format("small packets pass from this host to the others, {}", kBut);
    case Kind::kMutual:
      return fmt::format("small packets pass between {} and {}, {}", reach.folded(group.others),
                         reach.folded(group.hosts), kBut);
    case Kind::kOneWay:
      break;
  }
  return fmt::format("small packets pass from {} to {}, {}", reach.folded(group.others),
                     reach.folded(group.hosts), kBut);
}

const layout::Placement* placement_of(const Scene& scene, const std::string& host) {
  const auto& all = scene.layout.placements;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& placement) { return placement.host == host; });
  return found == all.end() ? nullptr : &*found;
}

// Returns "MTU 1500 of eth0 on n2"; empty if unknown.
std::string mtu_text(const Scene& scene, std::size_t host) {
  const facts::Survey& survey = scene.surveys[host];
  const layout::Placement* const placement = placement_of(scene, survey.host);
  if (placement == nullptr || !survey.facts) return {};
  for (const facts::Interface& interface : survey.facts->interfaces) {
    if (interface.name != placement->interface) continue;
    return fmt::format("MTU {} of {} on {}", interface.mtu, interface.name, survey.host);
  }
  return {};
}

std::string mtu_fix(const Scene& scene, const HostPair& example) {
  const layout::Placement* const from = placement_of(scene, scene.surveys[example.first].host);
  const layout::Placement* const to = placement_of(scene, scene.surveys[example.second].host);
  const bool is_known = from != nullptr && to != nullptr;
  const std::string advice =
      "lower the MTU of these hosts' interfaces to what the network carries, or let routers and "
      "firewalls pass ICMP \"fragmentation needed\" (of IPv6: \"packet too big\")";
  if (!is_known) return advice;
  return fmt::format(
      "{}; with smaller numbers than 1472, this finds what passes:\n  muster exec -H {} -- 'ping "
      "-M do -c 1 -W 1 -s 1472 {}'\nthen, for example:\n{}",
      advice, from->host, to->address,
      command_on_hosts(fmt::format("sudo ip link set dev {} mtu 1400", from->interface)));
}

}  // namespace

Findings find_blocked(const Scene& scene) {
  const Reachability reach(scene);
  Findings findings;
  for (const ReachGroup& group : group_pairs(reach.tried(), reach.blocked())) {
    std::string evidence = reach.blocked_text(group.pairs);
    if (works_backwards(reach, group)) evidence += "; in the other direction they work";
    findings.push_back({.id = std::string(kPortsFiltered),
                        .severity = Severity::kError,
                        .hosts = reach.names(concerned(group)),
                        .what = blocked_what(reach, group),
                        .evidence = std::move(evidence),
                        .fix = firewall_fix(scene, group.kind)});
  }
  return findings;
}

Findings find_large_lost(const Scene& scene) {
  const Reachability reach(scene);
  Findings findings;
  for (const ReachGroup& group : group_pairs(reach.tried(), reach.large_lost())) {
    const HostPair example = *group.pairs.begin();
    std::string evidence = "64 KiB over a new connection were never acknowledged";
    for (const std::size_t host : {example.first, example.second}) {
      const std::string text = mtu_text(scene, host);
      if (!text.empty()) evidence += "; " + text;
    }
    findings.push_back({.id = std::string(kPathMtu),
                        .severity = Severity::kError,
                        .hosts = reach.names(concerned(group)),
                        .what = large_lost_what(reach, group),
                        .evidence = std::move(evidence),
                        .fix = mtu_fix(scene, example)});
  }
  return findings;
}

}  // namespace muster::checks
