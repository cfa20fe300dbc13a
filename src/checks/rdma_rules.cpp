// RDMA that some hosts have but the job will not use, because not all hosts are on the same fabric.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "facts/rdma.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

using layout::Fabric;
using layout::has_active_port;

constexpr std::string_view kOverTcp = "the whole job will use TCP";

std::string ports_text(const facts::Facts& facts) {
  std::vector<std::string> texts;
  for (const facts::RdmaPort& port : facts.rdma) {
    texts.push_back(fmt::format("{} port {} ({}) is {}", port.device, port.port,
                                facts::link_name(port), port.active ? "active" : "not active"));
  }
  return texts.empty() ? "no RDMA device" : listed(texts, 4);
}

Finding lacking(const Participant& host, std::size_t having, std::size_t all) {
  return {.id = std::string(kRdmaMissing),
          .severity = Severity::kWarning,
          .hosts = {host.name()},
          .what = fmt::format("it has no active RDMA port, while {} of {} hosts have one: {}",
                              having, all, kOverTcp),
          .evidence = ports_text(*host.facts),
          .fix =
              "check the cable and the output of ibstat on the host; in a container: docker run "
              "--device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1; or leave the host "
              "out with --exclude"};
}

// The finding is only a note if no host has rails: some clouds show RDMA cards that are not meant
// to be used for RDMA.
Finding without_gid(const Participant& host, bool others_have_rails) {
  return {.id = std::string(kRoceGid),
          .severity = others_have_rails ? Severity::kWarning : Severity::kNote,
          .hosts = {host.name()},
          .what = fmt::format("no RoCE port has a RoCE v2 GID for an address of the host: {}",
                              kOverTcp),
          .evidence = ports_text(*host.facts),
          .fix =
              "give the port's interface an IPv4 address; a GID that begins with ::ffff: and has "
              "the type RoCE v2 must then appear:\n" +
              command_on_hosts("grep -H . /sys/class/infiniband/*/ports/*/gids/* "
                               "/sys/class/infiniband/*/ports/*/gid_attrs/types/*")};
}

std::vector<Fabric> usable_fabrics(const Participant& host) {
  constexpr std::array kAll = {Fabric::kEfa, Fabric::kInfiniband, Fabric::kRoceIpv4,
                               Fabric::kRoceIpv6};
  std::vector<Fabric> usable;
  for (const Fabric fabric : kAll) {
    const auto found = layout::find_rails(*host.facts, fabric, host.placement->interface);
    if (!found.rails.empty()) usable.push_back(fabric);
  }
  return usable;
}

Finding different_fabrics(const std::map<Fabric, std::vector<std::string>>& hosts_by_fabric) {
  std::vector<std::string> groups;
  for (const auto& [fabric, names] : hosts_by_fabric) {
    groups.push_back(on_hosts(layout::name_of(fabric), names));
  }
  return {.id = std::string(kRdmaMissing),
          .severity = Severity::kWarning,
          .what = fmt::format("the hosts have different kinds of RDMA fabric: {}", kOverTcp),
          .evidence = fmt::format("{}", fmt::join(groups, ", ")),
          .fix = "use hosts of one kind only: leave the others out with --exclude"};
}

}  // namespace

Findings find_rdma(const Scene& scene) {
  Findings findings;
  const std::vector<Participant> hosts = participants(scene);
  const auto having = static_cast<std::size_t>(
      std::count_if(hosts.begin(), hosts.end(),
                    [](const Participant& host) { return has_active_port(*host.facts); }));
  const bool is_used = scene.layout.fabric != Fabric::kNone;
  if (hosts.size() < 2 || having == 0 || is_used) return findings;
  std::map<Fabric, std::vector<std::string>> hosts_by_fabric;
  std::vector<const Participant*> without;
  for (const Participant& host : hosts) {
    const std::vector<Fabric> usable = usable_fabrics(host);
    for (const Fabric fabric : usable) hosts_by_fabric[fabric].push_back(host.name());
    if (usable.empty()) without.push_back(&host);
  }
  for (const Participant* host : without) {
    findings.push_back(has_active_port(*host->facts) ? without_gid(*host, !hosts_by_fabric.empty())
                                                     : lacking(*host, having, hosts.size()));
  }
  // If all these hosts share a fabric, it is unused because of hosts whose facts are unknown.
  const bool share_one =
      std::any_of(hosts_by_fabric.begin(), hosts_by_fabric.end(),
                  [&](const auto& entry) { return entry.second.size() == hosts.size(); });
  if (without.empty() && !share_one) findings.push_back(different_fabrics(hosts_by_fabric));
  return findings;
}

}  // namespace muster::checks
