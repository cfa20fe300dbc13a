// The environment after activation, and what could not be looked at.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "checks/activation_advice.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "sys/hash.hpp"

namespace muster::checks {
namespace {

// Variables that differ from host to host, or from login to login, by their nature.
bool is_of_the_host(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"_",   "HOSTNAME", "HOST", "OLDPWD",
                                                      "PWD", "RANDOM",   "SHLVL"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("SSH_") || name.starts_with("XDG_SESSION_") ||
         name.starts_with("BASH_FUNC_");
}

using Digests = std::map<std::string, HostGroups>;  // by variable; key "": not set

// Cost: hosts times variables.
Digests digests_of(std::span<const Participant> hosts) {
  std::set<std::string> names;
  for (const Participant& host : hosts) {
    for (const auto& [name, digest] : host.facts->environment.digest) {
      if (!is_of_the_host(name)) names.insert(name);
    }
  }
  Digests digests;
  for (const std::string& name : names) {
    for (const Participant& host : hosts) {
      const auto& own = host.facts->environment.digest;
      const auto found = own.find(name);
      digests[name].add(found == own.end() ? "" : found->second, host.name());
    }
  }
  return digests;
}

// How a host's variable is not as usual, with its value only where it was told as harmless.
std::string oddity(const std::string& name, const facts::Environment& environment) {
  const auto value = environment.seen.find(name);
  if (value != environment.seen.end()) return fmt::format("{}={}", name, value->second);
  return environment.digest.contains(name) ? name : name + " (not set)";
}

bool matters(const facts::NotSeen& one, bool is_first) {
  constexpr std::array<std::string_view, 11> kNames = {
      "interfaces", "routes", "own_name",          "rdma",         "limits", "shm", "mpi",
      "program",    "libmpi", "program.libraries", "program.torch"};
  if (std::find(kNames.begin(), kNames.end(), one.what) != kNames.end()) return true;
  return is_first && (one.what == "listeners" || one.what == "port_range");
}

// Variables that the host's activation sets but that the ranks get from here with another value.
std::vector<std::string> undone(const layout::Job& job, const facts::Environment& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : job.env_values) {
    const auto activated = environment.digest.find(name);
    if (activated == environment.digest.end()) continue;
    if (activated->second != sys::hash_text(value)) names.push_back(name);
  }
  return names;
}

Finding undone_activation(const std::string& host, const std::vector<std::string>& names) {
  return {
      .id = std::string(kActivationFailed),
      .severity = Severity::kWarning,
      .hosts = {host},
      .what = fmt::format("this machine's value of {} overrides what --activate sets on the host",
                          listed(names)),
      .evidence =
          "muster passes it on because you used -x, or because it is a variable of NCCL, PyTorch, "
          "Gloo, UCX, libfabric, oneCCL or OpenMP",
      .fix =
          fmt::format("leave out -x {}, or unset the variable on this machine; to change what the "
                      "activation sets, add it to the activation: --activate '...; export {}=...'",
                      names.front(), names.front())};
}

}  // namespace

Findings find_activation(const Scene& scene) {
  Findings findings;
  if (scene.job.activate.empty()) return findings;
  for (const Participant& host : participants(scene)) {
    const std::vector<std::string> names = undone(scene.job, host.facts->environment);
    if (!names.empty()) findings.push_back(undone_activation(host.name(), names));
  }
  for (const Participant& host : participants(scene)) {
    const facts::Environment& environment = host.facts->environment;
    if (environment.activated && environment.failure.empty()) continue;
    findings.push_back(
        {.id = std::string(kActivationFailed),
         .severity = Severity::kError,
         .hosts = {host.name()},
         .what = "--activate failed on the host",
         .evidence = environment.failure.empty() ? "it did not run" : environment.failure,
         .fix = fmt::format("{}\nto see it fail:\n{}",
                            activation_advice(scene.job.activate, environment.failure),
                            command_on_hosts(scene.job.activate))});
  }
  return findings;
}

Findings find_environment(const Scene& scene) {
  std::vector<Participant> hosts = participants(scene);
  std::erase_if(hosts, [](const Participant& host) { return !host.facts->environment.activated; });
  std::map<std::string, std::vector<std::string>> odd;  // host: its variables
  std::map<std::string, std::string> usual;             // host: those that have the first otherwise
  for (const auto& [name, groups] : digests_of(hosts)) {
    const std::string usual_hosts = groups.usual_hosts();
    for (const HostGroup& group : groups.odd()) {
      for (const std::string& host : group.hosts) {
        odd[host].push_back(name);
        usual.emplace(host, usual_hosts);
      }
    }
  }
  Findings findings;
  for (const Participant& host : hosts) {
    const auto found = odd.find(host.name());
    if (found == odd.end()) continue;
    std::vector<std::string> texts;
    for (const std::string& name : found->second) {
      texts.push_back(oddity(name, host.facts->environment));
    }
    findings.push_back(
        {.id = std::string(kEnvironmentDiffers),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = fmt::format("--activate produces a different environment on this host than on {}",
                             usual[host.name()]),
         .evidence = listed(texts),
         .fix = "activate the same environment on all hosts; if settings of NCCL, UCX or Open MPI "
                "differ, the first collective hangs"});
  }
  return findings;
}

Findings find_not_seen(const Scene& scene) {
  Findings findings;
  if (scene.job.pods > 0) {
    findings.push_back(
        {.id = std::string(kFactsNotGathered),
         .severity = Severity::kNote,
         .what =
             "muster did not examine the other pods and skipped every check that compares hosts",
         .evidence = "in a pod muster sees only that pod"});
  }
  for (const Participant& host : participants(scene)) {
    const bool is_first = host.placement == scene.layout.placements.data();
    std::vector<facts::NotSeen> unseen = host.facts->not_seen;
    if (!scene.job.program.empty() && !host.facts->program) {
      unseen.push_back({.what = "program", .why = "the host was not asked about it"});
    }
    for (const facts::NotSeen& one : unseen) {
      if (!matters(one, is_first)) continue;
      findings.push_back({.id = std::string(kFactsNotGathered),
                          .severity = Severity::kNote,
                          .hosts = {host.name()},
                          .what = fmt::format("not examined: {}", one.what),
                          .evidence = one.why});
    }
  }
  return findings;
}

}  // namespace muster::checks
