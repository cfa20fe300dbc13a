#include "layout/rail_variables.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout/rails.hpp"

namespace muster::layout {
namespace {

using Variables = std::map<std::string, std::string>;

std::vector<std::string> device_names(const Placement& placement) {
  std::vector<std::string> names;
  for (const Rail& rail : placement.rails) {
    names.push_back(fmt::format("{}:{}", rail.device, rail.port));
  }
  return names;
}

// Whether NCCL would use other ports than the rails: it uses every active port of InfiniBand and
// RoCE, but none of EFA.
bool nccl_would_take_more(const facts::Facts& host, const Placement& placement) {
  return std::any_of(host.rdma.begin(), host.rdma.end(), [&](const facts::RdmaPort& port) {
    const bool is_taken = port.active && fabric_of(port) != Fabric::kEfa;
    return is_taken && !is_rail(placement, port);
  });
}

bool have_one_index(const Placement& placement) {
  const int first = placement.rails.front().gid_index;
  return std::all_of(placement.rails.begin(), placement.rails.end(),
                     [&](const Rail& rail) { return rail.gid_index == first; });
}

// Whether NCCL finds the GID of each rail by itself if it is given this range.
bool finds_gids(const facts::Facts& host, const Placement& placement, bool ipv4,
                const std::optional<Network>& range) {
  for (const Rail& rail : placement.rails) {
    for (const facts::RdmaPort& port : host.rdma) {
      if (port.device != rail.device || port.port != rail.port) continue;
      if (index_that_nccl_takes(port, ipv4, range) != rail.gid_index) return false;
    }
  }
  return true;
}

Network range_of_rails(const Placement& placement) {
  std::vector<Ip> addresses;
  for (const Rail& rail : placement.rails) {
    if (const auto ip = parse_ip(rail.address)) addresses.push_back(*ip);
  }
  return addresses.empty() ? Network{} : cover(addresses);
}

// Adds the variables by which NCCL finds the GIDs. NCCL before 2.21 knows only NCCL_IB_GID_INDEX,
// which applies to all ports of a process; later versions choose a GID per port. NCCL reads only
// the first network in NCCL_IB_ADDR_RANGE.
void add_gids(const facts::Facts& host, const Placement& placement, Fabric fabric,
              Variables& variables) {
  const bool ipv4 = fabric == Fabric::kRoceIpv4;
  // NCCL's default is IPv4. Set the family even if there is a single index: ranks do not get the
  // index if the user chooses the ports, and NCCL would then look for IPv4 GIDs in vain.
  if (!ipv4) variables["NCCL_IB_ADDR_FAMILY"] = "AF_INET6";
  if (have_one_index(placement)) {
    variables["NCCL_IB_GID_INDEX"] = std::to_string(placement.rails.front().gid_index);
    return;
  }
  variables["NCCL_IB_ROCE_VERSION_NUM"] = "2";
  if (ipv4) variables["NCCL_IB_ADDR_FAMILY"] = "AF_INET";
  if (finds_gids(host, placement, ipv4, std::nullopt)) return;
  const Network range = range_of_rails(placement);
  if (finds_gids(host, placement, ipv4, range)) variables["NCCL_IB_ADDR_RANGE"] = to_text(range);
}

}  // namespace

std::map<std::string, std::string> rail_variables(const facts::Facts& host,
                                                  const Placement& placement, Fabric fabric,
                                                  bool separate) {
  Variables variables;
  // NCCL's plugin for EFA finds the cards and uses libfabric's provider "efa" by itself. Setting
  // that provider for all programs would break an MPI whose own libfabric does not have it.
  if (placement.rails.empty() || fabric == Fabric::kEfa) return variables;
  if (separate) variables["NCCL_CROSS_NIC"] = "0";
  std::vector<std::string> names = device_names(placement);
  const bool has_more = nccl_would_take_more(host, placement);
  if (has_more) variables["NCCL_IB_HCA"] = fmt::format("={}", fmt::join(names, ","));
  if (is_roce(fabric)) add_gids(host, placement, fabric, variables);
  // libfabric's verbs provider accepts a single name, so set it only for a single rail.
  const std::string& interface = placement.rails.front().interface;
  if (has_more && names.size() == 1 && !interface.empty()) variables["FI_VERBS_IFACE"] = interface;
  if (!placement.interface.empty()) names.push_back(placement.interface);  // for UCX over TCP
  variables["UCX_NET_DEVICES"] = fmt::format("{}", fmt::join(names, ","));
  return variables;
}

int index_that_nccl_takes(const facts::RdmaPort& port, bool ipv4,
                          const std::optional<Network>& range) {
  for (const facts::Gid& gid : port.gids) {
    const auto ip = ip_of_gid(gid.gid);
    if (!ip || (ip->family == Family::kIpv4) != ipv4 || !is_roce_v2_address(gid, *ip)) continue;
    if (gid.index == 0 || !range || contains(*range, *ip)) return gid.index;
  }
  return -1;
}

}  // namespace muster::layout
