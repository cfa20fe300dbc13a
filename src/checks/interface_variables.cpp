#include "checks/interface_variables.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/printable.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"

namespace muster::checks {
namespace {

constexpr std::array<std::string_view, 7> kVariables = {
    "CCL_KVS_IFACE",      "FI_SOCKETS_IFACE", "FI_TCP_IFACE",   "GLOO_SOCKET_IFNAME",
    "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES"};

bool has_device(const facts::Facts& host, std::string_view name, bool is_prefix) {
  const auto is_it = [&](const facts::Interface& interface) {
    return is_prefix ? interface.name.starts_with(name) : interface.name == name;
  };
  return std::any_of(host.interfaces.begin(), host.interfaces.end(), is_it);
}

bool has_rdma_device(const facts::Facts& host, std::string_view name) {
  return std::any_of(host.rdma.begin(), host.rdma.end(),
                     [&](const facts::RdmaPort& port) { return port.device == name; });
}

// Whether the host has the interface or device to which this entry of the variable refers.
bool is_there(const facts::Facts& host, std::string_view variable, std::string_view name) {
  if (variable == "UCX_NET_DEVICES") {
    // Removes the port, as in "mlx5_0:1".
    const std::string_view device = name.substr(0, name.find(':'));
    return name == "all" || has_device(host, device, false) || has_rdma_device(host, device);
  }
  // The list consists of prefixes unless it begins with '='.
  if (variable == "NCCL_SOCKET_IFNAME") {
    return has_device(host, name.substr(0, name.find(':')), true);
  }
  return has_device(host, name, false);
}

bool is_usable(const facts::Facts& host, std::string_view variable, const std::string& value) {
  if (value.empty() || value.starts_with('^')) return true;  // '^' lists what to exclude
  const bool is_exact = value.starts_with('=');
  const std::vector<std::string> names = listed_names(is_exact ? value.substr(1) : value);
  const auto has_it = [&](const std::string& name) {
    return is_exact ? has_device(host, name, false) : is_there(host, variable, name);
  };
  // Gloo fails if one of the listed interfaces does not exist. The other libraries use any listed
  // interface that exists.
  return variable == "GLOO_SOCKET_IFNAME" ? std::all_of(names.begin(), names.end(), has_it)
                                          : std::any_of(names.begin(), names.end(), has_it);
}

}  // namespace

std::vector<std::string> interface_variables(const layout::Job& job) {
  std::vector<std::string> names;
  for (const std::string_view name : kVariables) {
    if (job.env_values.contains(std::string(name))) names.emplace_back(name);
  }
  return names;
}

Findings find_interface_variables(const Scene& scene) {
  Findings findings;
  const std::vector<std::string> variables = interface_variables(scene.job);
  if (variables.empty()) return findings;
  for (const Participant& host : participants(scene)) {
    if (!was_seen(*host.facts, "interfaces")) continue;
    for (const std::string& variable : variables) {
      const std::string& value = scene.job.env_values.at(variable);
      if (is_usable(*host.facts, variable, value)) continue;
      const std::string& own = host.placement->interface;
      findings.push_back(
          {.id = std::string(kOtherInterface),
           .severity = Severity::kWarning,
           .hosts = {host.name()},
           .what = fmt::format("{}={} is passed to all ranks, but the host has no such interface",
                               variable, printable(value.substr(0, 100))),
           .evidence = own.empty() ? "" : fmt::format("the job's interface on the host is {}", own),
           .fix = fmt::format("unset {}: muster then sets it to the right interface on each host",
                              variable)});
    }
  }
  return findings;
}

}  // namespace muster::checks
