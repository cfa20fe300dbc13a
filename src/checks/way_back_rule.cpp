// Whether the hosts can connect to the launcher.
#include <fmt/format.h>

#include "checks/participant.hpp"
#include "checks/reach_wording.hpp"
#include "checks/rules.hpp"
#include "engines/kind.hpp"

namespace muster::checks {
namespace {

using facts::Reached;

// How each host's connection to the launcher ended, if one was tried, by the host's name.
using WaysBack = std::unordered_map<std::string_view, const facts::Trial*>;

WaysBack ways_back(const Scene& scene) {
  WaysBack ways;
  for (const facts::Trial& trial : scene.trials) {
    if (trial.to != facts::kLauncher || trial.from >= scene.surveys.size()) continue;
    ways.emplace(scene.surveys[trial.from].host, &trial);
  }
  return ways;
}

std::string trial_text(const Scene& scene, const facts::Trial& trial) {
  return fmt::format("connections to {} {}", scene.layout.launcher_address, verb_for(trial.how));
}

}  // namespace

// The daemons of an MPI's mpirun connect to it; torchrun's agents and Slurm's daemons do not.
Findings find_no_way_back(const Scene& scene) {
  const layout::Engine& engine = scene.layout.engine;
  if (!engines::find(engine.kind).is_mpi) return {};
  const WaysBack ways = ways_back(scene);
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const auto way = ways.find(host.name());
    // The trial sends more packets than the probe of the facts, which a lossy network can deceive.
    const bool was_tried = way != ways.end();
    const std::string& unreachable = host.facts->launcher_unreachable;
    if (was_tried ? way->second->how == Reached::kYes : unreachable.empty()) continue;
    const bool is_partial = was_tried && way->second->how == Reached::kLargeLost;
    findings.push_back(
        {.id = std::string(is_partial ? kPathMtu : kNoCommonSubnet),
         .severity = Severity::kError,
         .hosts = {host.name()},
         .what = fmt::format("the host cannot {} this machine, but the daemons of {} must be "
                             "able to",
                             is_partial ? "send large packets to" : "connect to",
                             engines::name_of(engine.kind, engine.version)),
         .evidence = unreachable.empty() ? trial_text(scene, *way->second) : unreachable,
         .fix = "make this machine reachable from the host (route, firewall, NAT, MTU), start "
                "muster on one of the hosts, or use --engine torchrun"});
  }
  return findings;
}

}  // namespace muster::checks
