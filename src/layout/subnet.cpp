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

constexpr int kWidestCover = 8;  // bits: a wider network than that says nothing

struct Member {
  const Facts* host = nullptr;
  std::vector<Door> doors;
  std::string default_interface;
};

struct Candidate {
  Network network;
  std::vector<Door> members = {};
  bool holds_master = false;
  bool has_rdma = true;      // on all hosts
  int speed_mbit = 0;        // the slowest host's; -1: not told
  std::size_t defaults = 0;  // hosts whose default route leaves through it
  bool has_launcher = false;
};

std::vector<Member> members_of(std::span<const Facts* const> hosts) {
  std::vector<Member> members;
  members.reserve(hosts.size());
  for (const Facts* host : hosts) members.push_back({host, doors(*host), default_interface(*host)});
  return members;
}

bool has_address_in(const Facts& host, const Network& network) {
  const auto all = doors(host);
  return std::any_of(all.begin(), all.end(),
                     [&](const Door& door) { return contains(network, door.address); });
}

using Uses = std::unordered_map<std::uint32_t, int>;  // on how many hosts an address is

Uses uses_in(const Network& network, std::span<const Member> members) {
  Uses uses;
  for (const Member& member : members) {
    std::unordered_set<std::uint32_t> once;
    for (const Door& door : member.doors) {
      if (door.network == network && once.insert(door.address).second) ++uses[door.address];
    }
  }
  return uses;
}

// The best of a host's doors into the network; an address that another host has too is none.
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

auto worth(const Candidate& one) {
  return std::tuple(one.holds_master, one.has_rdma, one.speed_mbit, one.defaults, one.has_launcher);
}

// What decided between the best and the next one.
std::string advantage(const Candidate& best, const Candidate& next) {
  if (best.holds_master != next.holds_master)
    return "it contains the master address that you asked for";
  if (best.has_rdma != next.has_rdma) return "all hosts have RDMA on it";
  if (best.speed_mbit != next.speed_mbit) {
    const std::string other =
        next.speed_mbit < 0 ? "an unknown speed" : fmt::format("{} Mbit/s", next.speed_mbit);
    return fmt::format("{} Mbit/s on the slowest host, compared with {}", best.speed_mbit, other);
  }
  if (best.defaults != next.defaults) return "more hosts have their default route on it";
  if (best.has_launcher != next.has_launcher) return "this machine is in it";
  return "its address is the lowest";
}

std::string reason(std::span<const Candidate> sorted) {
  const Candidate& best = sorted.front();
  const std::string name = to_text(best.network);
  if (best.members.size() == 1 && sorted.size() == 1) {
    return fmt::format("subnet {}: the host's only network", name);
  }
  if (sorted.size() == 1) {
    return fmt::format("subnet {}: the only network that all {} hosts share", name,
                       best.members.size());
  }
  return fmt::format("subnet {} instead of {}: {}", name, to_text(sorted[1].network),
                     advantage(best, sorted[1]));
}

// The host's one IPv4 address behind its default route, where it is a port's.
std::optional<Door> way_out(const Member& member) {
  std::optional<Door> found;
  for (const Door& door : member.doors) {
    if (door.interface->name != member.default_interface) continue;
    if (found || door.interface->kind != InterfaceKind::kPort) return std::nullopt;
    found = door;
  }
  return found;
}

// Whether another interface of a host would be taken for the job's too.
bool is_ambiguous(const Network& network, const Member& member, const Door& door) {
  for (const facts::Interface& interface : member.host->interfaces) {
    if (!interface.up || interface.name == door.interface->name) continue;
    for (const facts::Address& address : interface.addresses) {
      const auto ip = parse_ipv4(address.ip);
      if (ip && contains(network, *ip)) return true;
    }
  }
  return false;
}

// For clouds that give every host a /32, or each zone its own prefix.
std::optional<Subnet> covering(std::span<const Member> members) {
  Subnet subnet;
  std::vector<std::uint32_t> addresses;
  for (const Member& member : members) {
    const auto door = way_out(member);
    if (!door) return std::nullopt;
    subnet.members.push_back(*door);
    addresses.push_back(door->address);
  }
  const bool first_private = is_private(addresses.front());
  for (const std::uint32_t address : addresses) {
    if (is_private(address) != first_private) return std::nullopt;
  }
  if (std::unordered_set(addresses.begin(), addresses.end()).size() != addresses.size()) {
    return std::nullopt;
  }
  subnet.network = cover(addresses);
  if (subnet.network.prefix < kWidestCover) return std::nullopt;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_ambiguous(subnet.network, members[i], subnet.members[i])) return std::nullopt;
  }
  subnet.why = fmt::format(
      "subnet {}: the hosts share no network; this is the smallest one that contains the addresses "
      "of their default routes",
      to_text(subnet.network));
  return subnet;
}

void sort_by_worth(std::vector<Candidate>& candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(),  // they came with the lowest address first
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
      const auto ip = parse_ipv4(address.ip);
      if (!network || !ip || is_loopback(*ip) || is_link_local(*ip)) continue;
      if (!can_be_a_hosts(*network, *ip)) continue;
      if (network->prefix == 0) continue;  // the whole world is no network
      all.push_back({.network = *network, .address = *ip, .interface = &interface});
    }
  }
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
      const auto ip = parse_ipv4(address.ip);
      if (!network || !ip || !is_loopback(*ip)) continue;
      return Door{.network = *network, .address = *ip, .interface = &interface};
    }
  }
  return std::nullopt;
}

std::string default_interface(const Facts& host) {
  const facts::Route* best = nullptr;
  for (const facts::Route& route : host.routes) {
    if (route.destination != "0.0.0.0/0") continue;
    if (best == nullptr || route.metric < best->metric) best = &route;
  }
  return best == nullptr ? std::string() : best->interface;
}

std::optional<Subnet> choose_subnet(std::span<const Facts* const> hosts, const Facts& launcher,
                                    std::optional<std::uint32_t> master) {
  if (hosts.empty()) return std::nullopt;
  const std::vector<Member> members = members_of(hosts);
  std::vector<Candidate> candidates = common_networks(members);
  if (candidates.empty()) return covering(members);
  for (Candidate& candidate : candidates) {
    candidate.holds_master = master && contains(candidate.network, *master);
    candidate.has_launcher = has_address_in(launcher, candidate.network);
  }
  sort_by_worth(candidates);
  std::string why = reason(candidates);
  return Subnet{candidates.front().network, std::move(candidates.front().members), std::move(why)};
}

std::string launcher_subnet(std::span<const Facts* const> hosts, const Facts& launcher,
                            const Network& chosen) {
  if (has_address_in(launcher, chosen)) return {};
  std::vector<const Facts*> all = {&launcher};
  all.insert(all.end(), hosts.begin(), hosts.end());
  const std::vector<Member> members = members_of(all);
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
