// Hosts that could not be reached, and files that make ssh or sshd refuse a login.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "checks/container_wording.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "hosts/fold.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

std::string fix_for(const Scene& scene, const std::string& id, const Error& error,
                    std::span<const std::string> hosts) {
  if (std::string fix = bundle_fix(scene.launcher, id, hosts); !fix.empty()) return fix;
  constexpr std::array<std::string_view, 4> kSetUp = {
      "ssh-host-key-unknown", "ssh-publickey-denied", "ssh-private-key-perms",
      "ssh-too-many-agent-keys"};
  if (std::find(kSetUp.begin(), kSetUp.end(), id) != kSetUp.end()) {
    return fmt::format("  muster setup {}", hosts_flag(hosts));
  }
  if (id == "ssh-host-key-changed") {
    return fmt::format(
        "find out why the key changed before you do anything else; if the host was reinstalled, "
        "compare the new fingerprint at its console, then run:\n  muster setup --forget {}",
        sys::quote(std::string_view(hosts::fold(hosts))));
  }
  return error.hint;
}

Finding unreachable(const Scene& scene, const std::string& id, const Error& error,
                    std::vector<std::string> hosts) {
  std::string fix = fix_for(scene, id, error, hosts);
  return {.id = id.empty() ? std::string(kFactsNotGathered) : id,
          .severity = Severity::kError,
          .hosts = std::move(hosts),
          .what = error.what,
          // ssh's message may differ between the hosts; the first host's stands in for all.
          .evidence = error.cause ? error.cause->what : std::string(),
          .fix = std::move(fix)};
}

bool is_server_side(const std::string& path) {
  return !path.ends_with("/.ssh/config") && path.find("/.ssh/id_") == std::string::npos;
}

std::string mode_fix(const facts::FileMode& file, const facts::Facts& facts) {
  const std::string path = sys::quote(std::string_view(file.path));
  if (file.uid != facts.uid && file.uid != 0) {
    return fmt::format("sudo chown {} {}", sys::quote(std::string_view(facts.user)), path);
  }
  if (file.path.ends_with("/.ssh")) return fmt::format("chmod 700 {}", path);
  if (file.path.find("/.ssh/") == std::string::npos) return fmt::format("chmod go-w {}", path);
  return fmt::format("chmod 600 {}", path);
}

// If a file in a container belongs to another user, the fix is for the container's machine: usually
// the container has no sudo, and the file is mounted from the machine.
std::string fix_on_host(const facts::FileMode& file, const Participant& host,
                        const std::string& bundle_owner) {
  if (!is_container(*host.facts) || file.uid == host.facts->uid) {
    return command_on_hosts(mode_fix(file, *host.facts));
  }
  return owner_fix(*host.facts, file, bundle_owner, worker_folder(host.name()));
}

// Makes a finding about one file. The caller sets `hosts`.
Finding refused_file(const facts::FileMode& file) {
  return {
      .id = std::string(is_server_side(file.path) ? kSshStrictModes : kSshKeyMode),
      .severity = Severity::kWarning,
      .what = fmt::format("{} refuses {}", is_server_side(file.path) ? "sshd" : "ssh", file.path),
      .evidence = file.problem};
}

}  // namespace

Findings find_unreachable(const Scene& scene) {
  const SurveysByName by_name = surveys_by_name(scene);
  const Error untold{.what = "muster did not contact the host"};
  HostGroups groups;
  // The failure id and the error of each group's first host.
  std::vector<std::pair<std::string, const Error*>> first;
  for (const layout::Placement& placement : scene.layout.placements) {
    const auto found = by_name.find(placement.host);
    if (found != by_name.end() && found->second->facts) continue;
    const bool is_known = found != by_name.end();
    const Error& error = is_known ? found->second->facts.error() : untold;
    const std::string id = is_known ? found->second->failure_id : std::string();
    // The key does not contain the hint, because that may name the host, as in "try: ssh n2 true".
    groups.add(fmt::format("{}\n{}", id, error.what), placement.host);
    if (groups.all().size() > first.size()) first.emplace_back(id, &error);
  }
  Findings findings;
  for (std::size_t i = 0; i < first.size(); ++i) {
    findings.push_back(unreachable(scene, first[i].first, *first[i].second, groups.all()[i].hosts));
  }
  return findings;
}

Findings find_ssh_modes(const Scene& scene) {
  const auto& placements = scene.layout.placements;
  const bool all_here = std::all_of(placements.begin(), placements.end(),
                                    [](const layout::Placement& one) { return one.here; });
  const engines::HostsBy way = engines::find(scene.layout.engine.kind).hosts_by;
  if (way == engines::HostsBy::kAllocation || all_here) return {};  // muster does not use ssh then
  const std::string& bundle_owner = scene.launcher.container.bundle_owner;
  Findings findings;
  for (const Participant& host : participants(scene)) {
    if (host.placement->here) continue;
    for (const facts::FileMode& file : host.facts->ssh_files) {
      if (file.problem.empty()) continue;
      findings.push_back(refused_file(file));
      findings.back().hosts = {host.name()};
      findings.back().fix = fix_on_host(file, host, bundle_owner);
    }
  }
  for (const facts::FileMode& file : scene.launcher.ssh_files) {
    if (file.problem.empty()) continue;
    findings.push_back(refused_file(file));
    findings.back().what += " on this machine";
    const bool is_machines = is_container(scene.launcher) && file.uid != scene.launcher.uid;
    findings.back().fix = is_machines ? owner_fix(scene.launcher, file, bundle_owner, "launcher")
                                      : "  " + mode_fix(file, scene.launcher);
  }
  return findings;
}

}  // namespace muster::checks
