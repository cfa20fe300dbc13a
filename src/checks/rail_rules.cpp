// Rails that are worse than those of the other hosts of the same kind.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "layout/rails.hpp"

namespace muster::checks {
namespace {

using layout::Fabric;
using layout::gbit_of;
using layout::port_name;

// Each host is compared only with hosts that have the same CPU and the same number of GPUs. A
// cluster may mix machine models on purpose, and different models have different cards.
using GpusAndCpu = std::pair<std::size_t, std::string>;
using Group = std::vector<Participant>;

std::map<GpusAndCpu, Group> groups_of(const Scene& scene) {
  std::map<GpusAndCpu, Group> groups;
  for (const Participant& host : participants(scene)) {
    groups[{host.facts->gpus.size(), host.facts->cpu.model}].push_back(host);
  }
  return groups;
}

// The most frequent value; of equally frequent ones, the largest.
template <class T>
class Usual {
 public:
  void add(const T& value) { ++counts_[value]; }
  [[nodiscard]] T value() const {
    const auto by_count = [](const auto& one, const auto& two) {
      return std::pair(one.second, one.first) < std::pair(two.second, two.first);
    };
    const auto most = std::max_element(counts_.begin(), counts_.end(), by_count);
    return most == counts_.end() ? T{} : most->first;
  }

 private:
  std::map<T, int> counts_;
};

struct Peers {
  std::size_t hosts = 0;
  std::size_t rails = 0;                         // number of rails that most hosts have
  std::string rate;                              // rate of most rails
  std::map<std::string, std::size_t> used = {};  // number of hosts on which a port is a rail

  // Whether most other hosts use the port as a rail. To be called only for a host that does not, so
  // that `used` counts only the other hosts.
  [[nodiscard]] bool usually_use(const std::string& port) const {
    const auto found = used.find(port);
    return found != used.end() && 2 * found->second > hosts - 1;
  }
};

Peers peers_of(const Group& group) {
  Peers peers{.hosts = group.size()};
  Usual<std::size_t> rails;
  Usual<std::pair<double, std::string>> rate;
  for (const Participant& host : group) {
    rails.add(host.placement->rails.size());
    for (const layout::Rail& rail : host.placement->rails) {
      rate.add({gbit_of(rail.rate), rail.rate});
      ++peers.used[port_name(rail.device, rail.port)];
    }
  }
  peers.rails = rails.value();
  peers.rate = rate.value().second;
  return peers;
}

Finding rail_finding(std::string_view id, const Participant& host,
                     const std::vector<std::string>& ports, std::string_view fix) {
  return {.id = std::string(id),
          .severity = Severity::kWarning,
          .hosts = {host.name()},
          .what = fmt::format("{}", fmt::join(ports, "; ")),
          .fix = std::string(fix)};
}

std::string down_text(const facts::RdmaPort& port) {
  if (port.physical_state == "LinkUp") {
    const bool is_infiniband = layout::fabric_of(port) == Fabric::kInfiniband;
    return fmt::format("{} has a link, but is not active{}", port_name(port.device, port.port),
                       is_infiniband ? "; is a subnet manager running?" : "");
  }
  const std::string state =
      port.physical_state.empty() ? "" : fmt::format(" ({})", port.physical_state);
  return fmt::format("{} is not active{}", port_name(port.device, port.port), state);
}

// Whether the port is active, but slower than most rails.
bool is_slow(const facts::RdmaPort& port, const Peers& peers) {
  const double gbit = gbit_of(port.rate);
  return port.active && gbit > 0 && gbit < gbit_of(peers.rate);
}

struct Faults {
  std::vector<std::string> lost;  // inactive or missing
  std::vector<std::string> slow;
  std::vector<std::string> without_gid;
};

bool is_of_fabric(const facts::RdmaPort& port, Fabric fabric) {
  return layout::fabric_of(port) == (layout::is_roce(fabric) ? Fabric::kRoceIpv4 : fabric);
}

// Finds the ports that are rails on most other hosts but not on this one, and why they are not.
void find_lost(const Participant& host, const Peers& peers, Fabric fabric, Faults& faults) {
  std::set<std::string> here;
  for (const facts::RdmaPort& port : host.facts->rdma) {
    const std::string name = port_name(port.device, port.port);
    here.insert(name);
    if (layout::is_rail(*host.placement, port) || !peers.usually_use(name)) continue;
    if (!port.active) {
      faults.lost.push_back(down_text(port));
    } else if (is_slow(port, peers)) {
      faults.slow.push_back(fmt::format("{} has {}", name, port.rate));
    } else if (layout::is_roce(fabric) && is_of_fabric(port, fabric)) {
      faults.without_gid.push_back(name);
    }
  }
  for (const auto& [name, count] : peers.used) {
    if (!here.contains(name) && peers.usually_use(name)) {
      faults.lost.push_back(fmt::format("{} is missing", name));
    }
  }
}

Faults faults_of(const Participant& host, const Peers& peers, Fabric fabric) {
  Faults faults;
  for (const layout::Rail& rail : host.placement->rails) {
    const double gbit = gbit_of(rail.rate);
    if (gbit <= 0 || gbit >= gbit_of(peers.rate)) continue;
    faults.slow.push_back(fmt::format("{} has {}", port_name(rail.device, rail.port), rail.rate));
  }
  const std::size_t rails = host.placement->rails.size();
  if (rails >= peers.rails) return faults;
  const std::size_t slow_rails = faults.slow.size();
  find_lost(host, peers, fabric, faults);
  const bool is_explained =
      !faults.lost.empty() || !faults.without_gid.empty() || faults.slow.size() > slow_rails;
  if (!is_explained) {
    faults.lost.push_back(
        fmt::format("{} rail{} instead of {}", rails, rails == 1 ? "" : "s", peers.rails));
  }
  return faults;
}

void add_findings(const Participant& host, const Peers& peers, const Faults& faults,
                  Findings& findings) {
  const std::string most =
      fmt::format("most hosts of its kind have {} rail{}{}{}", peers.rails,
                  peers.rails == 1 ? "" : "s", peers.rate.empty() ? "" : " of ", peers.rate);
  if (!faults.lost.empty()) {
    findings.push_back(rail_finding(
        kRailLost, host, faults.lost,
        "check the cable, the switch port, the subnet manager (InfiniBand) and the output of "
        "ibstat or rdma link on the host; or leave the host out with --exclude"));
    findings.back().evidence = most;
  }
  if (!faults.slow.empty()) {
    findings.push_back(rail_finding(
        kRailSlow, host, faults.slow,
        "replace the cable or the transceiver, or set the speed of the switch port; a rail that "
        "is slower than the others slows down the whole job"));
    findings.back().evidence = most;
  }
  if (!faults.without_gid.empty()) {
    findings.push_back(
        rail_finding(kRoceGid, host,
                     {fmt::format("{} has no RoCE v2 GID for an address of the host, so NCCL "
                                  "cannot use it",
                                  fmt::join(faults.without_gid, ", "))},
                     "give the port's interface an address, as on the other hosts"));
    findings.back().evidence = most;
  }
}

// The MTU of a rail's interface; 0 if unknown.
int mtu_of(const facts::Facts& host, const std::string& interface) {
  const auto found = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                  [&](const auto& one) { return one.name == interface; });
  return found == host.interfaces.end() ? 0 : found->mtu;
}

}  // namespace

Findings find_rail_faults(const Scene& scene) {
  Findings findings;
  if (scene.layout.fabric == Fabric::kNone) return findings;
  for (const auto& [kind, group] : groups_of(scene)) {
    if (group.size() < 2) continue;
    const Peers peers = peers_of(group);
    for (const Participant& host : group) {
      add_findings(host, peers, faults_of(host, peers, scene.layout.fabric), findings);
    }
  }
  return findings;
}

// Checks only RoCE, whose packet size depends on the interface's MTU. Compares only hosts in the
// same subnet.
Findings find_rail_mtu(const Scene& scene) {
  Findings findings;
  if (!layout::is_roce(scene.layout.fabric)) return findings;
  const std::vector<Participant> hosts = participants(scene);
  std::map<std::string, Usual<int>> mtu_in;
  for (const Participant& host : hosts) {
    for (const layout::Rail& rail : host.placement->rails) {
      mtu_in[rail.network].add(mtu_of(*host.facts, rail.interface));
    }
  }
  for (const Participant& host : hosts) {
    for (const layout::Rail& rail : host.placement->rails) {
      const int own = mtu_of(*host.facts, rail.interface);
      const int usual = mtu_in[rail.network].value();
      if (own == 0 || usual == 0 || own == usual) continue;
      findings.push_back(
          {.id = std::string(kMtu),
           .severity = Severity::kWarning,
           .hosts = {host.name()},
           .what = fmt::format("{} of the rail {} has MTU {}, but most hosts in {} have {}",
                               rail.interface, port_name(rail.device, rail.port), own, rail.network,
                               usual),
           .fix = fmt::format("set it to the same value on all hosts:\n{}",
                              command_on_hosts(fmt::format("sudo ip link set {} mtu {}",
                                                           rail.interface, usual)))});
    }
  }
  return findings;
}

}  // namespace muster::checks
