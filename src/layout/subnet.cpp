#include "layout/subnet.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "layout/rails.hpp"

namespace muster::layout {
namespace {

using facts::Facts;
using facts::InterfaceKind;

// The shortest prefix, in bits, that `covering` accepts. Two addresses in a wider network have
// hardly anything in common.
int widest_cover(Family family) {
  return family == Family::kIpv4 ? 8 : 32;
}

struct Member {
  const Facts* host = nullptr;
  std::vector<Door> doors;
  std::string default_interface;       // of the IPv4 default route, or else of the IPv6 one
  std::string default_interface_ipv6;  // empty: no default route for IPv6
};

struct Candidate {
  Network network;
  std::vector<Door> members = {};
  bool holds_master = false;
  bool has_rdma = true;  // whether all hosts have RDMA on it
  int speed_mbit = 0;    // speed of the slowest host; -1: unknown
  // False if the address of some host in this network is temporary or deprecated.
  bool lasts = true;
  std::size_t defaults = 0;  // how many hosts have their default route on it
  bool has_launcher = false;
  bool only_control = false;  // RDMA carries the data, this network only control traffic
};

std::vector<Member> members_of(std::span<const Facts* const> hosts) {
  std::vector<Member> members;
  members.reserve(hosts.size());
  for (const Facts* host : hosts) {
    Member member{host, doors(*host), default_interface(*host, Family::kIpv4),
                  default_interface(*host, Family::kIpv6)};
    if (member.default_interface.empty()) member.default_interface = member.default_interface_ipv6;
    members.push_back(std::move(member));
  }
  return members;
}

bool has_address_in(const Facts& host, const Network& network) {
  const auto all = doors(host);
  return std::any_of(all.begin(), all.end(),
                     [&](const Door& door) { return contains(network, door.address); });
}

using Uses = std::unordered_map<Ip, int, IpHash>;  // number of hosts that have an address

Uses uses_in(const Network& network, std::span<const Member> members) {
  Uses uses;
  for (const Member& member : members) {
    std::unordered_set<Ip, IpHash> once;
    for (const Door& door : member.doors) {
      if (door.network == network && once.insert(door.address).second) ++uses[door.address];
    }
  }
  return uses;
}

// The best door of a host into the network; null if it has none. Doors with an address that another
// host has too do not count.
const Door* best_door(const Member& member, const Network& network, const Uses& uses) {
  const auto worth = [&](const Door& door) {
    return std::tuple(has_rdma(*member.host, *door.interface), door.interface->speed_mbit,
                      door.interface->name == member.default_interface);
  };
  const Door* best = nullptr;
  for (const Door& door : member.doors) {
    if (door.network != network || uses.at(door.address) > 1) continue;
    if (best == nullptr || worth(*best) < worth(door)) best = &door;
  }
  return best;
}

std::optional<Candidate> evaluate(const Network& network, std::span<const Member> members) {
  Candidate candidate{.network = network};
  const Uses uses = uses_in(network, members);
  for (const Member& member : members) {
    const Door* door = best_door(member, network, uses);
    if (door == nullptr) return std::nullopt;
    const int speed = door->interface->speed_mbit;
    candidate.speed_mbit =
        candidate.members.empty() ? speed : std::min(candidate.speed_mbit, speed);
    candidate.lasts = candidate.lasts && door->lasts;
    candidate.has_rdma = candidate.has_rdma && has_rdma(*member.host, *door->interface);
    if (door->interface->name == member.default_interface) ++candidate.defaults;
    candidate.members.push_back(*door);
  }
  return candidate;
}

std::vector<Candidate> common_networks(std::span<const Member> members) {
  std::set<Network> networks;
  for (const Door& door : members.front().doors) networks.insert(door.network);
  std::vector<Candidate> candidates;
  for (const Network& network : networks) {
    if (auto candidate = evaluate(network, members)) candidates.push_back(*std::move(candidate));
  }
  return candidates;
}

// The number of hosts whose default route uses this network, to be compared before speed. 0 unless
// RDMA carries the data: then this network carries only control traffic, and the fastest one may be
// meant for storage.
std::size_t first_defaults(const Candidate& one) {
  return one.only_control ? one.defaults : 0;
}

auto worth_for_hosts(const Candidate& one) {
  return std::tuple(one.holds_master, first_defaults(one), one.has_rdma, one.speed_mbit, one.lasts,
                    one.defaults);
}

auto worth(const Candidate& one) {
  return std::tuple_cat(
      std::tuple(one.holds_master, first_defaults(one), one.only_control && one.has_launcher),
      worth_for_hosts(one), std::tuple(one.has_launcher));
}

Family family_of(const Candidate& one) {
  return one.network.base.family;
}

bool same_interfaces(const Candidate& one, const Candidate& two) {
  return std::equal(
      one.members.begin(), one.members.end(), two.members.begin(), two.members.end(),
      [](const Door& left, const Door& right) { return left.interface == right.interface; });
}

// Removes IPv6 networks that use the same interfaces as an equally good IPv4 network, because every
// engine can use IPv4. Returns whether it removed any.
bool leave_out_twins(std::vector<Candidate>& candidates) {
  const std::vector<Candidate> all = candidates;
  const auto has_twin = [&](const Candidate& one) {
    return family_of(one) == Family::kIpv6 &&
           std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
             return family_of(other) == Family::kIpv4 && same_interfaces(one, other) &&
                    worth_for_hosts(other) >= worth_for_hosts(one);
           });
  };
  return std::erase_if(candidates, has_twin) > 0;
}

// Returns why the best network is better than the next one, if that is so because RDMA carries the
// data. Otherwise empty.
std::string advantage_for_control(const Candidate& best, const Candidate& next) {
  if (!best.only_control) return {};
  if (best.defaults != next.defaults) {
    return "more hosts have their default route on it, and the GPUs' traffic takes RDMA";
  }
  if (best.has_launcher == next.has_launcher) return {};
  return "this machine is in it, and the GPUs' traffic takes RDMA";
}

// Why the best network is better than the next one.
std::string advantage(const Candidate& best, const Candidate& next) {
  if (best.holds_master != next.holds_master)
    return "it contains the master address that you asked for";
  if (std::string why = advantage_for_control(best, next); !why.empty()) return why;
  if (best.has_rdma != next.has_rdma) return "all hosts have RDMA on it";
  if (best.speed_mbit != next.speed_mbit) {
    const std::string other =
        next.speed_mbit < 0 ? "an unknown speed" : fmt::format("{} Mbit/s", next.speed_mbit);
    return fmt::format("{} Mbit/s on the slowest host, compared with {}", best.speed_mbit, other);
  }
  if (best.lasts != next.lasts) return "the other has temporary or deprecated addresses";
  if (best.defaults != next.defaults) return "more hosts have their default route on it";
  if (best.has_launcher != next.has_launcher) return "this machine is in it";
  if (family_of(best) != family_of(next)) return "every engine can use IPv4";
  return "its address is the lowest";
}

// Returns the sentence that explains the choice. `kind` is "IPv4 " if IPv6 networks on the same
// interfaces were left out.
std::string reason(std::span<const Candidate> sorted, std::string_view kind) {
  const Candidate& best = sorted.front();
  const std::string name = to_text(best.network);
  if (best.members.size() == 1 && sorted.size() == 1) {
    return fmt::format("subnet {}: the host's only {}network", name, kind);
  }
  if (sorted.size() == 1) {
    return fmt::format("subnet {}: the only {}network that all {} hosts share", name, kind,
                       best.members.size());
  }
  return fmt::format("subnet {} instead of {}: {}", name, to_text(sorted[1].network),
                     advantage(best, sorted[1]));
}

// Returns the host's address of this family on the interface of its default route. Nothing if the
// interface is not a port or has several lasting addresses.
std::optional<Door> way_out(const Member& member, Family family) {
  const std::string& interface =
      family == Family::kIpv4 ? member.default_interface : member.default_interface_ipv6;
  std::optional<Door> found;
  for (const Door& door : member.doors) {
    if (door.address.family != family || door.interface->name != interface) continue;
    if (found && !door.lasts) continue;  // temporary addresses come last
    if (found || door.interface->kind != InterfaceKind::kPort) return std::nullopt;
    found = door;
  }
  return found;
}

// Whether another interface of the host has an address in the network too.
bool is_ambiguous(const Network& network, const Member& member, const Door& door) {
  for (const facts::Interface& interface : member.host->interfaces) {
    if (!interface.up || interface.name == door.interface->name) continue;
    for (const facts::Address& address : interface.addresses) {
      const auto ip = parse_ip(address.ip);
      if (ip && contains(network, *ip)) return true;
    }
  }
  return false;
}

// Returns the smallest network that contains the address of every host, for clouds that give every
// host a /32, or each zone a different prefix. Nothing if that network is too wide or ambiguous.
std::optional<Subnet> covering(std::span<const Member> members, Family family) {
  Subnet subnet;
  std::vector<Ip> addresses;
  for (const Member& member : members) {
    const auto door = way_out(member, family);
    if (!door) return std::nullopt;
    subnet.members.push_back(*door);
    addresses.push_back(door->address);
  }
  const bool first_private = is_private(addresses.front());
  for (const Ip& address : addresses) {
    if (is_private(address) != first_private) return std::nullopt;
  }
  if (std::set(addresses.begin(), addresses.end()).size() != addresses.size()) return std::nullopt;
  subnet.network = cover(addresses);
  if (subnet.network.prefix < widest_cover(family)) return std::nullopt;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_ambiguous(subnet.network, members[i], subnet.members[i])) return std::nullopt;
  }
  subnet.why = fmt::format(
      "subnet {}: the hosts share no network; this is the smallest one that contains the addresses "
      "of their default routes",
      to_text(subnet.network));
  return subnet;
}

// Keeps only doors of this family, if there are any.
void keep_family(std::vector<Door>& doors, Family family) {
  const auto is_wanted = [&](const Door& door) { return door.address.family == family; };
  if (std::none_of(doors.begin(), doors.end(), is_wanted)) return;
  std::erase_if(doors, [&](const Door& door) { return !is_wanted(door); });
}

void sort_by_worth(std::vector<Candidate>& candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(),  // stable: the lowest address comes first
      [](const Candidate& one, const Candidate& two) { return worth(two) < worth(one); });
}

}  // namespace

std::vector<Door> doors(const Facts& host) {
  std::vector<Door> all;
  for (const facts::Interface& interface : host.interfaces) {
    const bool leads_out =
        interface.kind == InterfaceKind::kPort || interface.kind == InterfaceKind::kInfiniband;
    if (!interface.up || !leads_out) continue;
    for (const facts::Address& address : interface.addresses) {
      const auto network = network_of(address);
      const auto ip = parse_ip(address.ip);
      if (!network || !ip || is_loopback(*ip) || is_link_local(*ip)) continue;
      if (!can_be_a_hosts(*network, *ip) || address.caveat == facts::kDuplicate) continue;
      if (network->prefix == 0) continue;  // it would contain every address
      all.push_back({.network = *network,
                     .address = *ip,
                     .interface = &interface,
                     .lasts = address.caveat.empty()});
    }
  }
  std::stable_partition(all.begin(), all.end(), [](const Door& door) { return door.lasts; });
  return all;
}

std::optional<Door> door_in(const Facts& host, const Network& network) {
  for (const Door& door : doors(host)) {
    if (contains(network, door.address)) return door;
  }
  return std::nullopt;
}

std::optional<Door> loopback_of(const Facts& host) {
  for (const facts::Interface& interface : host.interfaces) {
    if (interface.kind != InterfaceKind::kLoopback || !interface.up) continue;
    for (const facts::Address& address : interface.addresses) {
      const auto network = network_of(address);
      const auto ip = parse_ip(address.ip);
      if (!network || !ip || !is_loopback(*ip)) continue;
      return Door{.network = *network, .address = *ip, .interface = &interface};
    }
  }
  return std::nullopt;
}

std::string default_interface(const Facts& host, Family family) {
  const std::string_view destination = family == Family::kIpv4 ? "0.0.0.0/0" : "::/0";
  const facts::Route* best = nullptr;
  for (const facts::Route& route : host.routes) {
    if (route.destination != destination) continue;
    if (best == nullptr || route.metric < best->metric) best = &route;
  }
  return best == nullptr ? std::string() : best->interface;
}

std::optional<Subnet> choose_subnet(std::span<const Facts* const> hosts, const Facts& launcher,
                                    std::optional<Ip> master, bool only_control) {
  if (hosts.empty()) return std::nullopt;
  const std::vector<Member> members = members_of(hosts);
  std::vector<Candidate> candidates = common_networks(members);
  if (candidates.empty()) {
    auto subnet = covering(members, Family::kIpv4);
    return subnet ? subnet : covering(members, Family::kIpv6);
  }
  for (Candidate& candidate : candidates) {
    candidate.holds_master = master && contains(candidate.network, *master);
    candidate.has_launcher = has_address_in(launcher, candidate.network);
    candidate.only_control = only_control;
  }
  const bool had_twins = leave_out_twins(candidates);
  sort_by_worth(candidates);
  std::string why = reason(candidates, had_twins ? "IPv4 " : "");
  return Subnet{candidates.front().network, std::move(candidates.front().members), std::move(why)};
}

std::string launcher_subnet(std::span<const Facts* const> hosts, const Facts& launcher,
                            const Network& chosen) {
  if (has_address_in(launcher, chosen)) return {};
  std::vector<const Facts*> all = {&launcher};
  all.insert(all.end(), hosts.begin(), hosts.end());
  std::vector<Member> members = members_of(all);
  keep_family(members.front().doors, chosen.base.family);
  std::vector<Candidate> candidates = common_networks(members);
  sort_by_worth(candidates);
  if (!candidates.empty()) return to_text(candidates.front().network);
  const Member& own = members.front();
  for (const Door& door : own.doors) {
    if (door.interface->name == own.default_interface) return to_text(door.network);
  }
  return own.doors.empty() ? std::string() : to_text(own.doors.front().network);
}

}  // namespace muster::layout
