// CPUs that cannot run the same program.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

using Names = std::vector<std::string>;

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

Names without(const Names& names, const Names& removed) {
  Names left;
  std::set_difference(names.begin(), names.end(), removed.begin(), removed.end(),
                      std::back_inserter(left));
  return left;
}

std::string isa_evidence(const Names& own, const Names& usual) {
  const Names lacking = without(usual, own);
  const Names more = without(own, usual);
  std::string text;
  if (!lacking.empty()) text = "lacks " + listed(lacking);
  if (!more.empty()) text += (text.empty() ? "has " : "; has ") + listed(more) + " in addition";
  return text;
}

Findings odd_architectures(const HostGroups& architectures) {
  Findings findings;
  const std::string& usual = architectures.usual().key;
  const std::string usual_hosts = architectures.usual_hosts();
  for (const HostGroup& group : architectures.odd()) {
    findings.push_back(
        {.id = std::string(kMixedArchitecture),
         .severity = Severity::kError,
         .hosts = group.hosts,
         .what = fmt::format("its CPU architecture is {}, but {} has {}", group.key, usual_hosts,
                             usual),
         .fix =
             "leave these hosts out with --exclude: one program cannot run on both architectures"});
  }
  return findings;
}

}  // namespace

Findings find_cpu(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  HostGroups architectures;
  for (const Participant& host : hosts) {
    const std::string& architecture = host.facts->cpu.architecture;
    if (!architecture.empty()) architectures.add(architecture, host.name());
  }
  Findings findings = odd_architectures(architectures);
  const std::string usual_architecture = architectures.usual().key;
  HostGroups extensions;
  std::vector<Names> names_of;  // hosts of each group
  for (const Participant& host : hosts) {
    const facts::Cpu& cpu = host.facts->cpu;
    if (cpu.isa.empty() || cpu.architecture.empty()) continue;  // unknown
    if (cpu.architecture != usual_architecture) continue;
    Names names = sorted(cpu.isa);
    extensions.add(fmt::format("{}", fmt::join(names, " ")), host.name());
    if (extensions.all().size() > names_of.size()) names_of.push_back(std::move(names));
  }
  const HostGroup* most = &extensions.usual();
  const std::string usual_hosts = extensions.usual_hosts();
  for (std::size_t i = 0; i < names_of.size(); ++i) {
    const HostGroup& group = extensions.all()[i];
    if (&group == most) continue;
    const auto at = static_cast<std::size_t>(most - extensions.all().data());
    findings.push_back(
        {.id = std::string(kMixedIsa),
         .severity = Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("its CPU supports different instructions from the CPU of {}: a "
                             "program built for one may crash with SIGILL on the other",
                             usual_hosts),
         .evidence = isa_evidence(names_of[i], names_of[at]),
         .fix = "build for instructions that all hosts have (-march=x86-64-v2 or -v3, not native), "
                "and do not share compilation caches between hosts"});
  }
  return findings;
}

// More ranks than CPUs are not an error, because a test run on small hosts may want that. But the
// user should know why it is slow.
Findings find_oversubscription(const Scene& scene) {
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const int usable = host.facts->cpu.usable;
    const int ranks = host.placement->ranks;
    if (usable <= 0 || ranks * scene.layout.threads <= usable) continue;
    findings.push_back(
        {.id = std::string(kOversubscribed),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = ranks > usable ? "there are more ranks than CPUs"
                                : "the ranks have more threads than there are CPUs",
         .evidence = fmt::format("{} rank{} with {} thread{} each, {} usable CPU{} ({})", ranks,
                                 ranks == 1 ? "" : "s", scene.layout.threads,
                                 scene.layout.threads == 1 ? "" : "s", usable,
                                 usable == 1 ? "" : "s", host.facts->cpu.affinity),
         .fix = "the job runs, only slower; to avoid that, use fewer ranks per host "
                "(--nproc-per-node) or fewer threads (--threads)"});
  }
  return findings;
}

}  // namespace muster::checks
