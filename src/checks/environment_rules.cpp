// The environment after activation, and what could not be looked at.
#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "checks/activation_advice.hpp"
#include "checks/deviations.hpp"
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

// muster gives each rank its own.
bool is_set_by_muster(std::string_view name) {
  return name.ends_with("_IFNAME") || name.ends_with("_IFACE") || name == "UCX_NET_DEVICES" ||
         name == "OMP_NUM_THREADS";
}

// What a host's variables are compared by: values that were told as harmless, else digests.
Items items_of(const layout::Job& job, const facts::Environment& environment) {
  Items items;
  for (const auto& [name, digest] : environment.digest) {
    if (!is_of_the_host(name)) items[name] = digest;
  }
  for (const auto& [name, value] : environment.settings) {
    if (items.contains(name)) items[name] = value;
    const bool is_overridden = is_set_by_muster(name) || job.env_values.contains(name);
    if (!is_overridden && !is_of_the_host(name)) items[name] = value;
  }
  return items;
}

// How a variable is not as usual.
std::string oddity(const Difference& one, const facts::Environment& here,
                   const facts::Environment& usual) {
  const auto setting = here.settings.find(one.name);
  const auto other = usual.settings.find(one.name);
  const auto seen = here.seen.find(one.name);
  if (setting != here.settings.end()) {
    return fmt::format("{}={}{}", one.name, setting->second,
                       other == usual.settings.end() ? "" : " instead of " + other->second);
  }
  if (other != usual.settings.end()) {
    return fmt::format("{} (not set, instead of {})", one.name, other->second);
  }
  if (seen != here.seen.end()) return fmt::format("{}={}", one.name, seen->second);
  return one.value ? one.name : one.name + " (not set)";
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
  const bool activates = !scene.job.activate.empty();
  std::vector<HostItems> items;
  std::unordered_map<std::string, const facts::Environment*> environments;
  for (const Participant& host : participants(scene)) {
    const facts::Environment& environment = host.facts->environment;
    if (activates && !environment.activated) continue;
    items.push_back({.host = host.name(), .items = items_of(scene.job, environment)});
    environments.emplace(host.name(), &environment);
  }
  Findings findings;
  for (const Deviation& one : deviations(items)) {
    const facts::Environment& here = *environments.at(one.hosts.front());
    std::vector<std::string> texts;
    for (const Difference& difference : one.differences) {
      texts.push_back(oddity(difference, here, *environments.at(difference.usual_host)));
    }
    findings.push_back(
        {.id = std::string(kEnvironmentDiffers),
         .severity = Severity::kWarning,
         .hosts = one.hosts,
         .what = fmt::format("{} on {}",
                             activates ? "--activate produces a different environment on this host "
                                         "than"
                                       : "variables that configure NCCL, MPI, PyTorch or "
                                         "OpenMP have other values than",
                             one.usual_hosts),
         .evidence = listed(texts),
         .fix = activates
                    ? "activate the same environment on all hosts; if settings of NCCL, UCX or "
                      "Open MPI differ, the first collective hangs"
                    : "set the variables on all hosts alike, or pass them to all ranks with -x; "
                      "files such as ~/.bashrc and /etc/environment may set them on one host"});
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
