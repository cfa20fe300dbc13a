#include "layout/rails.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "layout/gid.hpp"
#include "layout/subnet.hpp"

namespace muster::layout {
namespace {

struct PossibleRail {
  const facts::RdmaPort* port = nullptr;
  Rail rail;
};

// The network of this address on the host; nothing if the host does not have the address. A GID may
// have such an address: in a pod, a shared card also shows the GIDs of other pods.
std::optional<Network> own_network(const facts::Facts& host, const Ip& ip) {
  for (const facts::Interface& interface : host.interfaces) {
    for (const facts::Address& address : interface.addresses) {
      if (parse_ip(address.ip) == ip) return network_of(address);
    }
  }
  return std::nullopt;
}

// Stores a GID that RoCE can use in `rail`, preferably one of `interface`. Returns whether there is
// one.
bool take_gid(const facts::Facts& host, const facts::RdmaPort& port, bool ipv4,
              const std::string& interface, Rail& rail) {
  for (const facts::Gid& gid : port.gids) {
    const auto ip = ip_of_gid(gid.gid);
    if (!ip || (ip->family == Family::kIpv4) != ipv4 || !is_roce_v2_address(gid, *ip)) continue;
    const auto network = own_network(host, *ip);
    const bool is_better = rail.gid_index < 0 || gid.interface == interface;
    if (!network || !is_better) continue;
    rail.gid_index = gid.index;
    rail.address = to_text(*ip);
    rail.network = to_text(*network);
    rail.interface = gid.interface;
    if (gid.interface == interface) break;
  }
  return rail.gid_index >= 0;
}

// The first half of an InfiniBand GID, which identifies the subnet: "fe80:0000:0000:0000".
std::string subnet_prefix(const facts::RdmaPort& port) {
  constexpr std::size_t kHalf = 19;
  return port.gids.empty() ? "" : port.gids.front().gid.substr(0, kHalf);
}

// Fills in `rail`. Returns why the port cannot be a rail of that fabric; empty if it can.
std::string make_rail(const facts::Facts& host, const facts::RdmaPort& port, Fabric fabric,
                      const std::string& interface, Rail& rail) {
  const Fabric kind = fabric_of(port);
  if (kind != (is_roce(fabric) ? Fabric::kRoceIpv4 : fabric)) {
    return fmt::format("not {}", is_roce(fabric) ? "RoCE" : name_of(fabric));
  }
  rail = {.device = port.device, .port = port.port, .rate = port.rate};
  if (!port.interfaces.empty()) rail.interface = port.interfaces.front();
  if (fabric == Fabric::kInfiniband) rail.network = subnet_prefix(port);
  if (!is_roce(fabric)) return "";
  const bool ipv4 = fabric == Fabric::kRoceIpv4;
  if (take_gid(host, port, ipv4, interface, rail)) return "";
  return fmt::format("no RoCE v2 GID with an {} address of the host", ipv4 ? "IPv4" : "IPv6");
}

// Moves the candidates for which `why_not` returns a reason to `left_out`.
template <class WhyNot>
void leave_out(std::vector<PossibleRail>& candidates, std::vector<LeftOut>& left_out,
               const WhyNot& why_not) {
  std::erase_if(candidates, [&](const PossibleRail& one) {
    std::string why = why_not(one);
    if (why.empty()) return false;
    left_out.push_back({one.port, std::move(why)});
    return true;
  });
}

bool is_way_out(const facts::Facts& host, const std::string& interface) {
  return !interface.empty() && (interface == default_interface(host, Family::kIpv4) ||
                                interface == default_interface(host, Family::kIpv6));
}

void leave_out_slow(const facts::Facts& host, std::vector<PossibleRail>& candidates,
                    std::vector<LeftOut>& left_out) {
  double top = 0;
  for (const PossibleRail& one : candidates) top = std::max(top, gbit_of(one.port->rate));
  leave_out(candidates, left_out, [&](const PossibleRail& one) -> std::string {
    const double gbit = gbit_of(one.port->rate);
    if (gbit <= 0 || gbit >= top) return "";
    if (gbit * 2 <= top) return one.port->rate;
    return is_way_out(host, one.rail.interface) ? one.port->rate + " with the default route" : "";
  });
}

// Returns the model of the cards that serve the GPUs, if the host has more ports than GPUs: the
// most frequent model, if it has ports for more than half of the GPUs. Otherwise empty. Ports that
// are down count too, so that the choice does not change when a rail fails.
std::string board_of_gpus(const facts::Facts& host, Fabric kind) {
  std::map<std::string, std::size_t> ports_of;
  std::size_t all = 0;
  for (const facts::RdmaPort& port : host.rdma) {
    if (fabric_of(port) == kind) ++ports_of[port.board], ++all;
  }
  const std::size_t gpus = host.gpus.size();
  if (gpus < 2 || all <= gpus) return "";
  const auto most =
      std::max_element(ports_of.begin(), ports_of.end(),
                       [](const auto& one, const auto& two) { return one.second < two.second; });
  const auto as_many = std::count_if(ports_of.begin(), ports_of.end(), [&](const auto& entry) {
    return entry.second == most->second;
  });
  return as_many == 1 && 2 * most->second > gpus ? most->first : "";
}

// Machines with one card per GPU often have cards of another model for storage, which may be as
// fast but are not rails.
void leave_out_other_boards(const facts::Facts& host, std::vector<PossibleRail>& candidates,
                            std::vector<LeftOut>& left_out) {
  if (candidates.empty()) return;
  const std::string board = board_of_gpus(host, fabric_of(*candidates.front().port));
  const auto is_of_board = [&](const PossibleRail& one) { return one.port->board == board; };
  if (board.empty() || std::none_of(candidates.begin(), candidates.end(), is_of_board)) return;
  leave_out(candidates, left_out, [&](const PossibleRail& one) -> std::string {
    return is_of_board(one) ? "" : "a different model than the cards for GPUs";
  });
}

}  // namespace

HostRails find_rails(const facts::Facts& host, Fabric fabric, const std::string& interface) {
  HostRails found;
  std::vector<PossibleRail> candidates;
  for (const facts::RdmaPort& port : host.rdma) {
    if (!port.active) continue;
    PossibleRail candidate{.port = &port};
    std::string why = make_rail(host, port, fabric, interface, candidate.rail);
    if (why.empty()) {
      candidates.push_back(std::move(candidate));
    } else {
      found.left_out.push_back({&port, std::move(why)});
    }
  }
  leave_out_slow(host, candidates, found.left_out);
  leave_out_other_boards(host, candidates, found.left_out);
  for (PossibleRail& one : candidates) found.rails.push_back(std::move(one.rail));
  return found;
}

bool is_usable_gid(const facts::Facts& host, const facts::Gid& gid) {
  const auto ip = ip_of_gid(gid.gid);
  return ip && is_roce_v2_address(gid, *ip) && own_network(host, *ip);
}

Fabric fabric_of(const facts::RdmaPort& port) {
  if (port.driver == "efa") return Fabric::kEfa;
  if (port.link_layer == "InfiniBand") return Fabric::kInfiniband;
  return port.link_layer == "Ethernet" ? Fabric::kRoceIpv4 : Fabric::kNone;
}

std::string_view name_of(Fabric fabric) {
  switch (fabric) {
    case Fabric::kEfa:
      return "EFA";
    case Fabric::kInfiniband:
      return "InfiniBand";
    case Fabric::kRoceIpv4:
      return "RoCE v2 over IPv4";
    case Fabric::kRoceIpv6:
      return "RoCE v2 over IPv6";
    case Fabric::kNone:
      break;
  }
  return "TCP";
}

bool is_roce(Fabric fabric) {
  return fabric == Fabric::kRoceIpv4 || fabric == Fabric::kRoceIpv6;
}

double gbit_of(const std::string& rate) {
  return std::max(0.0, std::strtod(rate.c_str(), nullptr));
}

std::string port_name(const std::string& device, int port) {
  return port == 1 ? device : fmt::format("{} port {}", device, port);
}

bool is_rail(const Placement& placement, const facts::RdmaPort& port) {
  return std::any_of(placement.rails.begin(), placement.rails.end(), [&](const Rail& rail) {
    return rail.device == port.device && rail.port == port.port;
  });
}

bool has_active_port(const facts::Facts& host) {
  return std::any_of(host.rdma.begin(), host.rdma.end(),
                     [](const facts::RdmaPort& port) { return port.active; });
}

bool has_rdma(const facts::Facts& host, const facts::Interface& interface) {
  const bool is_ipoib = interface.kind == facts::InterfaceKind::kInfiniband;
  return std::any_of(host.rdma.begin(), host.rdma.end(), [&](const facts::RdmaPort& port) {
    if (!port.active) return false;
    Rail rail;
    // The kernel names no network device in the GIDs of InfiniBand, so any IPoIB interface counts.
    if (fabric_of(port) == Fabric::kInfiniband) return is_ipoib;
    return fabric_of(port) == Fabric::kRoceIpv4 &&
           take_gid(host, port, true, interface.name, rail) && rail.interface == interface.name;
  });
}

}  // namespace muster::layout
