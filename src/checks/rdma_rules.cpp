// RDMA that some hosts have and the job will not use.
#include <algorithm>

#include <fmt/format.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "hosts/fold.hpp"
#include "layout/rdma.hpp"

namespace muster::checks {
namespace {

using layout::has_active_port;

constexpr std::string_view kOverTcp = "the whole job will use TCP";

std::string ports_text(const facts::Facts& facts) {
  std::vector<std::string> texts;
  for (const facts::RdmaPort& port : facts.rdma) {
    texts.push_back(fmt::format("{} port {} ({}) is {}", port.device, port.port, port.link_layer,
                                port.active ? "active" : "not active"));
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

Finding without_gid(const Participant& host) {
  return {.id = std::string(kRoceGid),
          .severity = Severity::kWarning,
          .hosts = {host.name()},
          .what = fmt::format("its RoCE port has no RoCE v2 GID for an IPv4 address: {}", kOverTcp),
          .evidence = ports_text(*host.facts),
          .fix =
              "give the port's interface an IPv4 address; a GID that begins with ::ffff: and has "
              "the type RoCE v2 must then appear:\n" +
              command_on_hosts("grep -H . /sys/class/infiniband/*/ports/*/gids/* "
                               "/sys/class/infiniband/*/ports/*/gid_attrs/types/*")};
}

}  // namespace

Findings find_rdma(const Scene& scene) {
  Findings findings;
  const std::vector<Participant> hosts = participants(scene);
  const auto having = static_cast<std::size_t>(
      std::count_if(hosts.begin(), hosts.end(),
                    [](const Participant& host) { return has_active_port(*host.facts); }));
  if (hosts.size() < 2 || having == 0) return findings;
  std::vector<std::string> native;
  std::vector<std::string> roce;
  for (const Participant& host : hosts) {
    const auto rdma = layout::choose_rdma(*host.facts, host.placement->interface);
    if (rdma) {
      (rdma->gid_index < 0 ? native : roce).push_back(host.name());
    } else {
      findings.push_back(has_active_port(*host.facts) ? without_gid(host)
                                                      : lacking(host, having, hosts.size()));
    }
  }
  if (!native.empty() && !roce.empty()) {
    findings.push_back(
        {.id = std::string(kRdmaMissing),
         .severity = Severity::kWarning,
         .what = fmt::format("some hosts have InfiniBand and others RoCE: {}", kOverTcp),
         .evidence = fmt::format("{}, {}", on_hosts("InfiniBand", native), on_hosts("RoCE", roce)),
         .fix = "use hosts of one kind only: leave the others out with --exclude"});
  }
  return findings;
}

}  // namespace muster::checks
