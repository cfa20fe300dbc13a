// The user's own NCCL_IB_HCA and NCCL_IB_GID_INDEX, which NCCL follows on every host.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/environment.hpp"
#include "base/printable.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

using facts::RdmaPort;

constexpr const char* kPorts = "NCCL_IB_HCA";
constexpr const char* kGidIndex = "NCCL_IB_GID_INDEX";

// NCCL_IB_HCA as NCCL reads it: "^" excludes the listed ports, "=" requires exact names.
struct PortFilter {
  bool leaves_out = false;
  bool is_exact = false;
  std::vector<std::string> entries = {};  // "mlx5_0:1", "mlx5"

  [[nodiscard]] bool matches(const std::string& entry, const RdmaPort& port) const {
    const std::size_t colon = entry.find(':');
    const std::string name = entry.substr(0, colon);
    const bool is_named = is_exact ? port.device == name : port.device.starts_with(name);
    return is_named &&
           (colon == std::string::npos || entry.substr(colon + 1) == std::to_string(port.port));
  }
  [[nodiscard]] bool takes(const RdmaPort& port) const {
    const bool is_listed =
        std::any_of(entries.begin(), entries.end(),
                    [&](const std::string& entry) { return matches(entry, port); });
    return entries.empty() || is_listed != leaves_out;
  }
};

PortFilter parse_filter(std::string text) {
  PortFilter filter;
  filter.leaves_out = text.starts_with('^');
  if (filter.leaves_out) text.erase(0, 1);
  filter.is_exact = text.starts_with('=');
  if (filter.is_exact) text.erase(0, 1);
  filter.entries = listed_names(text);
  return filter;
}

std::optional<std::string> value_of(const Scene& scene, const std::string& name) {
  const auto found = scene.job.env_values.find(name);
  if (found == scene.job.env_values.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Finding wrong_variable(std::string_view id, const Participant& host, const std::string& name,
                       const std::string& value, const std::string& what) {
  return {.id = std::string(id),
          .severity = Severity::kWarning,
          .hosts = {host.name()},
          .what = fmt::format("{}={} is passed to all ranks, but {}", name,
                              printable(value.substr(0, 100)), what),
          .fix = fmt::format("unset {}: muster then sets what each host needs", name)};
}

// The entries that match no port of the host.
std::vector<std::string> unknown_entries(const Participant& host, const PortFilter& filter) {
  std::vector<std::string> unknown;
  for (const std::string& entry : filter.entries) {
    const auto& ports = host.facts->rdma;
    const bool is_known = std::any_of(ports.begin(), ports.end(), [&](const RdmaPort& port) {
      return filter.matches(entry, port);
    });
    if (!is_known) unknown.push_back(entry);
  }
  return unknown;
}

// Returns what is wrong with the user's choice of ports on this host; empty if nothing is. The list
// may name ports that only other hosts have, as long as it includes all rails of this host.
std::string wrong_ports(const Participant& host, const PortFilter& filter) {
  std::vector<std::string> strangers;
  std::size_t rails = 0;
  for (const RdmaPort& port : host.facts->rdma) {
    if (!port.active || layout::fabric_of(port) == layout::Fabric::kEfa) continue;
    if (!filter.takes(port)) continue;
    if (layout::is_rail(*host.placement, port)) {
      ++rails;
    } else {
      strangers.push_back(layout::port_name(port.device, port.port));
    }
  }
  if (!strangers.empty()) {
    return fmt::format("it selects {}, which does not belong to the rails", listed(strangers, 4));
  }
  if (rails == 0) return "it selects no active port";
  const std::vector<std::string> unknown = unknown_entries(host, filter);
  if (unknown.empty() || filter.leaves_out || rails == host.placement->rails.size()) return "";
  return fmt::format("the host has no port {}", listed(unknown, 4));
}

// Returns what is wrong with the GID of this index on a port that NCCL will use; empty if nothing
// is.
std::string wrong_gid(const Participant& host, const PortFilter& filter, int index) {
  for (const RdmaPort& port : host.facts->rdma) {
    if (!layout::is_rail(*host.placement, port) || !filter.takes(port)) continue;
    const auto gid = std::find_if(port.gids.begin(), port.gids.end(),
                                  [&](const facts::Gid& one) { return one.index == index; });
    const std::string name = layout::port_name(port.device, port.port);
    if (gid == port.gids.end()) return fmt::format("{} has no GID of that index", name);
    if (layout::is_usable_gid(*host.facts, *gid)) continue;
    return fmt::format(
        "this GID of {} is {} ({}), and not a RoCE v2 GID for a routable address of the host", name,
        gid->gid, gid->type);
  }
  return "";
}

}  // namespace

Findings find_rail_variables(const Scene& scene) {
  Findings findings;
  const layout::Fabric fabric = scene.layout.fabric;
  const auto ports = value_of(scene, kPorts);
  const auto index_text = value_of(scene, kGidIndex);
  const bool is_verbs = fabric == layout::Fabric::kInfiniband || layout::is_roce(fabric);
  if (!is_verbs || (!ports && !index_text)) return findings;
  const PortFilter filter = parse_filter(ports.value_or(""));
  int index = -1;
  if (index_text) {
    (void)std::from_chars(index_text->data(), index_text->data() + index_text->size(), index);
  }
  for (const Participant& host : participants(scene)) {
    const std::string ports_wrong = ports ? wrong_ports(host, filter) : "";
    if (!ports_wrong.empty()) {
      findings.push_back(wrong_variable(kRdmaMissing, host, kPorts, *ports, ports_wrong));
    }
    const bool has_index = index >= 0 && layout::is_roce(fabric);
    const std::string gid_wrong = has_index ? wrong_gid(host, filter, index) : "";
    if (!gid_wrong.empty()) {
      findings.push_back(wrong_variable(kRoceGid, host, kGidIndex, *index_text, gid_wrong));
    }
  }
  return findings;
}

}  // namespace muster::checks
