// Whether the hosts can connect to the launcher.
#include <fmt/format.h>

#include "checks/reach_wording.hpp"
#include "checks/rules.hpp"
#include "engines/kind.hpp"

namespace muster::checks {

// The daemons of an MPI connect back to mpirun on the launcher. torchrun's agents and Slurm's
// daemons do not.
Findings find_no_way_back(const Scene& scene) {
  const layout::Engine& engine = scene.layout.engine;
  if (!engines::find(engine.kind).is_mpi) return {};
  Findings findings;
  for (const facts::Trial& trial : scene.trials) {
    const bool is_way_back = trial.to == facts::kLauncher && trial.from < scene.surveys.size();
    const bool is_partial = trial.how == facts::Reached::kLargeLost;
    if (!is_way_back || (!is_blocked(trial.how) && !is_partial)) continue;
    findings.push_back(
        {.id = std::string(is_partial ? kPathMtu : kNoCommonSubnet),
         .severity = Severity::kError,
         .hosts = {scene.surveys[trial.from].host},
         .what = fmt::format("the host cannot {} this machine, but the daemons of {} must be "
                             "able to",
                             is_partial ? "send large packets to" : "connect to",
                             engines::name_of(engine.kind, engine.version)),
         .evidence = fmt::format("connections to {} {}", scene.layout.launcher_address,
                                 verb_for(trial.how)),
         .fix = "make this machine reachable from the host (route, firewall, NAT, MTU), start "
                "muster on one of the hosts, or use --engine torchrun"});
  }
  return findings;
}

}  // namespace muster::checks
