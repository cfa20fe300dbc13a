#include "layout/rdma.hpp"

#include <algorithm>

namespace muster::layout {
namespace {

bool belongs(const facts::RdmaPort& port, const std::string& interface) {
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const facts::Gid& gid) { return gid.interface == interface; });
}

const facts::Interface* find_interface(const facts::Facts& host, const std::string& name) {
  const auto found = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                  [&](const facts::Interface& one) { return one.name == name; });
  return found == host.interfaces.end() ? nullptr : &*found;
}

struct Choice {
  Rdma rdma;
  bool of_interface = false;
};

std::optional<Choice> choose_on(const facts::RdmaPort& port, const std::string& interface,
                                bool is_ipoib) {
  if (!port.active) return std::nullopt;
  Rdma rdma{.device = port.device, .port = port.port};
  // The kernel names no network device for the GIDs of native InfiniBand.
  if (is_native(port)) return Choice{rdma, is_ipoib || belongs(port, interface)};
  const facts::Gid* best = nullptr;
  for (const facts::Gid& gid : port.gids) {
    if (!is_usable_gid(gid)) continue;
    if (best == nullptr || (gid.interface == interface && best->interface != interface)) {
      best = &gid;
    }
  }
  if (best == nullptr) return std::nullopt;
  rdma.gid_index = best->index;
  return Choice{rdma, best->interface == interface};
}

}  // namespace

bool is_usable_gid(const facts::Gid& gid) {
  constexpr std::string_view kMapped = "0000:0000:0000:0000:0000:ffff:";
  return gid.type == "RoCE v2" && gid.gid.starts_with(kMapped);
}

bool is_native(const facts::RdmaPort& port) {
  return port.link_layer == "InfiniBand";
}

bool has_active_port(const facts::Facts& host) {
  return std::any_of(host.rdma.begin(), host.rdma.end(),
                     [](const facts::RdmaPort& port) { return port.active; });
}

std::optional<Rdma> choose_rdma(const facts::Facts& host, const std::string& interface) {
  const facts::Interface* at = find_interface(host, interface);
  const bool is_ipoib = at != nullptr && at->kind == facts::InterfaceKind::kInfiniband;
  std::optional<Choice> best;
  int active_ports = 0;
  for (const facts::RdmaPort& port : host.rdma) {
    if (port.active) ++active_ports;
    const auto choice = choose_on(port, interface, is_ipoib);
    if (choice && (!best || (choice->of_interface && !best->of_interface))) best = choice;
  }
  if (!best) return std::nullopt;
  best->rdma.active_ports = active_ports;
  return best->rdma;
}

bool has_rdma(const facts::Facts& host, const facts::Interface& interface) {
  const bool is_ipoib = interface.kind == facts::InterfaceKind::kInfiniband;
  return std::any_of(host.rdma.begin(), host.rdma.end(), [&](const facts::RdmaPort& port) {
    const auto choice = choose_on(port, interface.name, is_ipoib);
    return choice && choice->of_interface;
  });
}

}  // namespace muster::layout
