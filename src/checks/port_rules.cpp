// The port on which rank 0 listens.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "facts/interfaces.hpp"
#include "layout/master_port.hpp"
#include "layout/network.hpp"
#include "layout/python.hpp"

namespace muster::checks {
namespace {

std::string holder_text(const facts::Listener& holder) {
  if (holder.pid == 0) {
    return fmt::format("a process that you may not inspect{} listens on {}",
                       holder.user.empty() ? "" : " (of " + holder.user + ")", holder.address);
  }
  return fmt::format("process {} of {} ({}) listens on {}", holder.pid,
                     holder.user.empty() ? "an unknown user" : holder.user,
                     holder.command.empty() ? "unknown command" : holder.command, holder.address);
}

std::string other_port(std::span<const Participant> hosts) {
  std::vector<const facts::Facts*> facts;
  for (const Participant& host : hosts) facts.push_back(host.facts);
  const int port = layout::choose_master_port(facts.front(), facts);
  return port == 0 ? "choose another port with --master-port"
                   : fmt::format("--master-port {}", port);
}

// Returns the hosts whose range of ephemeral ports leaves no port for rank 0. If no single range
// does but all ranges together do, returns all hosts.
std::vector<std::string> without_free_port(std::span<const Participant> hosts) {
  std::vector<std::string> names;
  for (const Participant& host : hosts) {
    if (layout::choose_master_port(hosts.front().facts, std::array{host.facts}) == 0) {
      names.push_back(host.name());
    }
  }
  if (!names.empty()) return names;
  for (const Participant& host : hosts) names.push_back(host.name());
  return names;
}

// The addresses, such as "eth1 (203.0.113.5)", at which machines outside the job may reach the
// host.
std::vector<std::string> ways_from_outside(const facts::Facts& host, const std::string& subnet) {
  const auto own = layout::parse_network(subnet);
  const auto is_outside = [&](const facts::Address& address) {
    const auto ip = layout::parse_ip(address.ip);
    return ip && !layout::is_link_local(*ip) && !(own && layout::contains(*own, *ip));
  };
  std::vector<std::string> ways;
  for (const facts::Interface& interface : host.interfaces) {
    if (!facts::leads_out(interface)) continue;
    for (const facts::Address& address : interface.addresses) {
      if (is_outside(address)) ways.push_back(fmt::format("{} ({})", interface.name, address.ip));
    }
  }
  return ways;
}

// Whether an argument for the engine selects `rendezvous`, to which every network can connect.
bool asks_for_open_rendezvous(const layout::Job& job, std::string_view rendezvous) {
  const auto& words = job.engine_args;
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return word == rendezvous || word.ends_with(fmt::format("backend={}", rendezvous));
  });
}

bool has_open_rendezvous(const Scene& scene, const engines::Kind& engine) {
  if (engine.open_rendezvous.empty()) return false;
  return scene.layout.min_hosts > 0 || asks_for_open_rendezvous(scene.job, engine.open_rendezvous);
}

// Whether the job opens a port on all interfaces, as PyTorch does. Programs with libmuster do not,
// and for other programs without Python it is unknown.
bool listens_everywhere(const Scene& scene, const engines::Kind& engine) {
  if (scene.job.confine_store) return false;
  const std::vector<std::string>& program = scene.job.program;
  return engine.comes_with_pytorch || layout::is_python(program);
}

Finding open_store(const Scene& scene, const Participant& first, const std::string& ways) {
  const bool can_confine = !engines::find(scene.layout.engine.kind).comes_with_pytorch;
  return {.id = std::string(kStoreOpen),
          .severity = Severity::kNote,
          .hosts = {first.name()},
          .what = fmt::format("PyTorch's store (env://) listens on all interfaces and asks for no "
                              "password: anybody who can connect to port {} can disturb the job",
                              scene.layout.master_port),
          .evidence = ways,
          .fix = fmt::format("block the port on this host with a firewall{}",
                             can_confine ? ", or pass --confine-store to muster run" : "")};
}

// Finds a port that machines outside the job's network can reach.
Findings find_open_port(const Scene& scene, const Participant& first) {
  const engines::Kind& engine = engines::find(scene.layout.engine.kind);
  const std::vector<std::string> open = ways_from_outside(*first.facts, scene.layout.subnet);
  if (open.empty()) return {};
  const std::string ways = fmt::format("outside the job's network: {}", listed(open, 4));
  if (!has_open_rendezvous(scene, engine)) {
    if (!listens_everywhere(scene, engine)) return {};
    return {open_store(scene, first, ways)};
  }
  return {{.id = std::string(kRendezvousOpen),
           .severity = Severity::kWarning,
           .hosts = {first.name()},
           .what = fmt::format("{}'s elastic rendezvous listens on all interfaces: anybody "
                               "who can connect to port {} can run code as you",
                               engine.launchers.front(), scene.layout.master_port),
           .evidence = ways,
           .fix = fmt::format("block the port on this host with a firewall, or let muster instead "
                              "of {} continue with fewer hosts: --nnodes MAX --min-nodes MIN "
                              "--max-restarts N",
                              engine.launchers.front())}};
}

}  // namespace

Findings find_port(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  if (hosts.empty() || hosts.front().placement != scene.layout.placements.data()) return {};
  // Rank 0 listens in the first pod. If that pod is on the same machine, the port may be in use
  // because of it.
  if (scene.job.pod > 0) return {};
  const Participant& first = hosts.front();
  const int port = scene.layout.master_port;
  if (port == 0) {
    return {{.id = std::string(kPortInUse),
             .severity = Severity::kError,
             .hosts = without_free_port(hosts),
             .what = "muster found no free port for rank 0 to listen on",
             .evidence = fmt::format("each port is in use on {} or is in the ip_local_port_range "
                                     "of these hosts",
                                     first.name()),
             .fix = command_on_hosts("sudo sysctl net.ipv4.ip_local_port_range='32768 60999'")}};
  }
  Findings findings = find_open_port(scene, first);
  const auto& listeners = first.facts->listeners;
  const auto holder = std::find_if(listeners.begin(), listeners.end(),
                                   [&](const facts::Listener& one) { return one.port == port; });
  if (holder != listeners.end()) {
    findings.push_back({.id = std::string(kPortInUse),
                        .severity = Severity::kError,
                        .hosts = {first.name()},
                        .what = fmt::format("the master port {} is in use", port),
                        .evidence = holder_text(*holder),
                        .fix = other_port(hosts)});
    if (holder->pid != 0 && holder->user == first.facts->user) {
      findings.back().fix += fmt::format(", or end the process if you no longer need it:\n{}",
                                         command_on_hosts(fmt::format("kill {}", holder->pid)));
    }
  }
  if (scene.job.master_port != 0 && layout::is_outgoing_port(*first.facts, port)) {
    findings.push_back(
        {.id = std::string(kPortEphemeral),
         .severity = Severity::kWarning,
         .hosts = {first.name()},
         .what =
             fmt::format("the kernel may give the master port {} to an outgoing connection", port),
         .evidence = fmt::format("ip_local_port_range is {} to {}", first.facts->port_range_first,
                                 first.facts->port_range_last),
         .fix = fmt::format("{}, or reserve the port:\n{}", other_port(hosts),
                            command_on_hosts(fmt::format(
                                "sudo sysctl net.ipv4.ip_local_reserved_ports={}", port)))});
  }
  return findings;
}

}  // namespace muster::checks
