#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "engines/kind.hpp"
#include "hosts/fold.hpp"
#include "layout/engine.hpp"
#include "layout/fabric.hpp"
#include "layout/gpus.hpp"
#include "layout/layout.hpp"
#include "layout/master_port.hpp"
#include "layout/network.hpp"
#include "layout/rail_variables.hpp"
#include "layout/ranks.hpp"
#include "layout/subnet.hpp"

namespace muster::layout {
namespace {

using facts::Facts;

// The hosts that take part and whose facts are known. `facts` and `placements` have the same order.
struct Known {
  std::vector<const Facts*> facts;
  std::vector<Placement*> placements;
};

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Known known_hosts(Layout& layout, std::span<const facts::Survey> surveys) {
  std::unordered_map<std::string_view, const Facts*> by_name;
  for (const facts::Survey& survey : surveys) {
    if (survey.facts) by_name.emplace(survey.host, &*survey.facts);
  }
  Known known;
  for (Placement& placement : layout.placements) {
    const auto found = by_name.find(placement.host);
    if (found == by_name.end()) continue;
    known.facts.push_back(found->second);
    known.placements.push_back(&placement);
  }
  return known;
}

// Uses the loopback interface if this machine is the only host, because then no traffic has to
// leave it. Returns false if it is not the only host, or has no loopback interface.
bool take_loopback(const Known& known, Layout& layout) {
  if (layout.placements.size() != 1 || !layout.placements.front().here) return false;
  const auto loopback = known.facts.empty() ? std::nullopt : loopback_of(*known.facts.front());
  if (!loopback) return false;
  Placement& placement = layout.placements.front();
  placement.interface = loopback->interface->name;
  placement.address = to_text(loopback->address);
  layout.subnet = to_text(loopback->network);
  layout.launcher_interface = placement.interface;
  layout.launcher_address = placement.address;
  layout.why.push_back(fmt::format("subnet {}: all ranks run on this machine", layout.subnet));
  return true;
}

// Whether there is only one host, so that no data leaves it. A pod does not count as alone if the
// job has other pods, although it sees only itself.
bool is_alone(const Job& job, const Layout& layout) {
  return layout.placements.size() < 2 && job.pods < 2;
}

bool has_usable_gpu(const Facts* host) {
  return std::any_of(host->gpus.begin(), host->gpus.end(),
                     [](const facts::Gpu& gpu) { return gpu.problem.empty(); });
}

// Whether the job's data goes from GPU to GPU over a fabric. Without GPUs on all hosts, PyTorch
// sends its data over TCP even if there is RDMA.
bool data_take_rdma(const Job& job, const Known& known, const Layout& layout) {
  if (is_alone(job, layout) || job.ranks_by == "cpu") return false;
  if (known.facts.size() != layout.placements.size()) return false;
  if (!std::all_of(known.facts.begin(), known.facts.end(), has_usable_gpu)) return false;
  const std::vector<std::string> any_interface(known.facts.size());
  return choose_fabric(known.facts, any_interface).fabric != Fabric::kNone;
}

void decide_network(const Job& job, const Facts& launcher, const Known& known, Layout& layout) {
  if (take_loopback(known, layout)) return;
  const auto subnet = choose_subnet(known.facts, launcher, parse_ip(job.master_address),
                                    data_take_rdma(job, known, layout));
  if (!subnet) {
    if (!known.facts.empty()) layout.why.emplace_back("no subnet: the hosts share none");
    return;
  }
  layout.subnet = to_text(subnet->network);
  layout.why.push_back(subnet->why);
  for (std::size_t i = 0; i < known.placements.size(); ++i) {
    known.placements[i]->interface = subnet->members[i].interface->name;
    known.placements[i]->address = to_text(subnet->members[i].address);
  }
  layout.launcher_subnet = launcher_subnet(known.facts, launcher, subnet->network);
  if (!layout.launcher_subnet.empty()) {
    layout.why.push_back(fmt::format("this machine is not in {}; it reaches the hosts through {}",
                                     layout.subnet, layout.launcher_subnet));
  }
  const Network meeting = parse_network(layout.launcher_subnet).value_or(subnet->network);
  if (const auto door = door_in(launcher, meeting)) {
    layout.launcher_interface = door->interface->name;
    layout.launcher_address = to_text(door->address);
  }
}

// Explains why the job uses TCP. `having` is the number of hosts with an active RDMA port.
std::string tcp_text(std::size_t having, std::size_t all) {
  if (having == 0) return "no RDMA on any host: traffic goes over TCP";
  return fmt::format(
      "no RDMA: {} of {} hosts have an active port, but not all hosts have the same kind of "
      "fabric; "
      "traffic goes over TCP",
      having, all);
}

void give_up_rdma(const Known& known, Layout& layout) {
  std::size_t having = 0;
  bool has_efa = false;
  for (const Facts* host : known.facts) {
    having += has_active_port(*host) ? 1 : 0;
    has_efa = has_efa || !find_rails(*host, Fabric::kEfa, "").rails.empty();
  }
  layout.rdma_given_up = having > 0;
  layout.why.push_back(tcp_text(having, layout.placements.size()));
  if (!has_efa) return;
  // The engines pass on NCCL_IB_DISABLE, but that does not disable the plugin for EFA.
  for (Placement* placement : known.placements) placement->variables["NCCL_NET"] = "Socket";
}

// Chooses the same fabric for all hosts, or none: if one side used RDMA and the other TCP, the
// first collective would hang. A pod does not see other pods and takes the best fabric that it has.
void decide_fabric(const Job& job, const Known& known, Layout& layout) {
  if (known.facts.empty() || is_alone(job, layout)) return;
  std::vector<std::string> interfaces, names;
  for (const Placement* placement : known.placements) {
    interfaces.push_back(placement->interface);
    names.push_back(placement->host);
  }
  FabricChoice choice;
  if (known.facts.size() == layout.placements.size()) {
    choice = choose_fabric(known.facts, interfaces);
  }
  if (choice.fabric == Fabric::kNone) return give_up_rdma(known, layout);
  layout.fabric = choice.fabric;
  layout.why.push_back(to_text(choice, names));
  const bool separate = are_separate(known.facts, choice.hosts);
  for (std::size_t i = 0; i < known.placements.size(); ++i) {
    Placement& placement = *known.placements[i];
    placement.rails = choice.hosts[i].rails;
    placement.variables = rail_variables(*known.facts[i], placement, choice.fabric, separate);
  }
}

void decide_master(const Job& job, const Known& known, Layout& layout) {
  const Placement& first = layout.placements.front();
  const bool is_known = !known.placements.empty() && known.placements.front() == &first;
  if (!job.master_address.empty()) {
    layout.master_address = job.master_address;
    layout.why.push_back(fmt::format("master address {}: you asked for it", job.master_address));
  } else if (!first.address.empty()) {
    layout.master_address = first.address;
    layout.why.push_back(
        fmt::format("master address {}: the address in the subnet of the host of rank 0, {}",
                    first.address, first.host));
  } else if (layout.placements.size() == 1 && is_known) {
    layout.master_address = "127.0.0.1";
    layout.why.emplace_back(
        "master address 127.0.0.1: there is only one host, and it has no network");
  }
  if (job.master_port != 0) {
    layout.master_port = job.master_port;
    layout.why.push_back(fmt::format("master port {}: you asked for it", job.master_port));
    return;
  }
  layout.master_port =
      choose_master_port(is_known ? known.facts.front() : nullptr, known.facts, job.attempt);
  if (layout.master_port != 0) {
    layout.why.push_back(is_known
                             ? fmt::format("master port {}: free on {}, and not in the range of "
                                           "ports for outgoing connections",
                                           layout.master_port, first.host)
                             : fmt::format("master port {}: the default, because {} did not answer",
                                           layout.master_port, first.host));
  }
}

// Names the hosts on which some rank has no GPU, or a GPU without a NUMA node.
void say_unbound(const Job& job, const Known& known, Layout& layout) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < known.facts.size(); ++i) {
    const Placement& placement = *known.placements[i];
    if (!all_ranks_have_cpus(job, *known.facts[i], placement.ranks)) {
      names.push_back(placement.host);
    }
  }
  if (names.empty()) return;
  layout.why.push_back(fmt::format(
      "some ranks on {} are not bound: they have no GPU, or the NUMA node of their GPU is not "
      "known",
      hosts::fold(names)));
}

void decide_cpus(const Job& job, const Known& known, Layout& layout) {
  std::optional<int> share;
  for (std::size_t i = 0; i < known.facts.size(); ++i) {
    const int usable = known.facts[i]->cpu.usable;
    if (usable <= 0) continue;  // unknown
    const int ranks = known.placements[i]->ranks;
    layout.oversubscribed = layout.oversubscribed || ranks > usable;
    share = std::min(share.value_or(usable / ranks), usable / ranks);
  }
  layout.threads = job.threads > 0 ? job.threads : std::max(share.value_or(1), 1);
  layout.why.push_back(
      job.threads > 0
          ? fmt::format("{} per rank: you asked for it", counted(job.threads, "thread"))
          : fmt::format("{} per rank: as many as the host with the fewest CPUs per rank has",
                        counted(layout.threads, "thread")));
  layout.bind_to = job.bind_to.empty() ? "none" : job.bind_to;
  layout.why.push_back(job.bind_to.empty()
                           ? "bind to none: so that the threads of a rank do not share one core"
                           : fmt::format("bind to {}: you asked for it", job.bind_to));
  if (layout.bind_to == kBindToGpu) say_unbound(job, known, layout);
  layout.map_by = job.map_by;
  if (!job.map_by.empty()) {
    layout.why.push_back(
        fmt::format("map by {}: you asked for it; the engine may number the ranks differently from "
                    "what is shown",
                    job.map_by));
  }
}

void decide_ranks(const Job& job, Layout& layout) {
  for (const Placement& placement : layout.placements) layout.ranks += placement.ranks;
  if (job.pods > 0) {
    Placement& own = layout.placements.front();
    own.first_rank = job.pod * own.ranks;
    layout.ranks = job.pods * own.ranks;
    layout.why.push_back(fmt::format("{} in total: this is pod {} of {}, with {} in each pod",
                                     counted(layout.ranks, "rank"), job.pod, job.pods, own.ranks));
    return;
  }
  layout.why.push_back(layout.placements.size() == 1
                           ? fmt::format("{} on one host", counted(layout.ranks, "rank"))
                           : fmt::format("{} ranks on {} hosts, each host filled before the next",
                                         layout.ranks, layout.placements.size()));
}

// Leaves restarts to the engine if it makes them itself. Some engines always do, others only with
// MIN:MAX. With all others, muster restarts the job.
Result<void> leave_restarts(const Job& job, Layout& layout) {
  const engines::Kind& engine = engines::find(layout.engine.kind);
  if (engine.hosts_by == engines::HostsBy::kPod && job.min_nodes > 0) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = "a job in pods cannot continue with fewer pods",
        .hint = "pass --nnodes without a minimum: the platform decides how many pods there are"});
  }
  const bool elastic = engine.is_elastic && job.elastic && job.min_nodes > 0;
  if (engine.restarts_ranks || elastic) layout.max_restarts = job.max_restarts;
  if (elastic) layout.min_hosts = job.min_nodes;
  return {};
}

Result<void> check_numbers(const Job& job) {
  if (job.master_port < 0 || job.master_port > kLastPort) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("{} is not a port that ranks can meet at", job.master_port),
              .hint = "pass --master-port with a number from 1025 to 65535, or leave it out: "
                      "muster then chooses a free port"});
  }
  if (job.threads < 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("--threads cannot be {}", job.threads),
                            .hint = "pass --threads with 1 or more, or leave it out: muster then "
                                    "divides the CPUs among the ranks"});
  }
  return {};
}

}  // namespace

Result<Layout> decide(const Job& job, const hosts::Cluster& cluster,
                      std::span<const facts::Survey> surveys, const Facts& launcher) {
  MUSTER_CHECK(check_numbers(job));
  Layout layout;
  MUSTER_TRY(layout.placements, place_ranks(job, cluster, surveys));
  decide_ranks(job, layout);
  const Known known = known_hosts(layout, surveys);
  EngineChoice choice = choose_engine(job, known.facts, launcher);
  layout.engine = std::move(choice.engine);
  layout.why.push_back(std::move(choice.why));
  MUSTER_CHECK(leave_restarts(job, layout));
  decide_network(job, launcher, known, layout);
  decide_fabric(job, known, layout);
  decide_master(job, known, layout);
  decide_cpus(job, known, layout);
  return layout;
}

}  // namespace muster::layout
