// The PyTorch that the ranks import.
#include <fmt/format.h>

#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "engines/kind.hpp"

namespace muster::checks {
namespace {

// The version that the program's Python imports. torchrun's own version may differ.
std::string version_on(const facts::Facts& host, bool has_torchrun) {
  if (host.program && !host.program->torch.empty()) return host.program->torch;
  return has_torchrun ? host.torch.version : "";
}

}  // namespace

// The rendezvous works between different versions, but collectives may fail.
Findings find_torch(const Scene& scene) {
  const bool has_torchrun = engines::find(scene.layout.engine.kind).comes_with_pytorch;
  HostGroups versions;
  for (const Participant& host : participants(scene)) {
    const std::string version = version_on(*host.facts, has_torchrun);
    if (!version.empty()) versions.add(version, host.name());
  }
  Findings findings;
  const std::string usual = versions.usual_hosts();
  for (const HostGroup& group : versions.odd()) {
    findings.push_back(
        {.id = std::string(kTorchVersion),
         .severity = has_torchrun ? Severity::kError : Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("the PyTorch version differs from the one on {}", usual),
         .evidence = fmt::format("{}; on {} {}", group.key, usual, versions.usual().key),
         .fix = "install the same version on all hosts"});
  }
  return findings;
}

}  // namespace muster::checks
