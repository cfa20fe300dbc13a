// Differences in the environment after activation, and facts that could not be gathered.
#include <algorithm>
#include <array>
#include <map>
#include <set>
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

// Whether the variable is expected to differ between hosts or between logins.
bool is_of_the_host(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {"_",      "HOSTNAME", "HOST",   "NCCL_HOSTID",
                                                      "OLDPWD", "PWD",      "RANDOM", "SHLVL"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("SSH_") || name.starts_with("XDG_SESSION_") ||
         name.starts_with("BASH_FUNC_");
}

// Whether muster sets the variable for each rank, which it does unless the activation sets it.
bool is_set_by_muster(std::string_view name) {
  return name.ends_with("_IFNAME") || name.ends_with("_IFACE") || name == "UCX_NET_DEVICES" ||
         name == "OMP_NUM_THREADS";
}

// The values to compare. Where the facts contain only a digest of a value, compares the digests.
Items items_of(const layout::Job& job, const facts::Environment& environment) {
  const auto is_compared = [&job](const std::string& name) {
    return !is_of_the_host(name) && !job.env_values.contains(name);
  };
  Items items;
  for (const auto& [name, digest] : environment.digest) {
    if (is_compared(name)) items[name] = digest;
  }
  for (const auto& [name, value] : environment.settings) {
    const bool is_default = is_set_by_muster(name) && !items.contains(name);
    if (is_compared(name) && !is_default) items[name] = value;
  }
  for (const auto& [name, value] : environment.seen) {
    if (items.contains(name)) items[name] = value;
  }
  return items;
}

// The names of a host in full and up to the first dot ("n1.site.org" and "n1"), the longest first.
std::vector<std::string> own_names(const Participant& host) {
  std::set<std::string> names;
  for (const std::string& name : {host.facts->hostname, host.name()}) {
    if (name.empty()) continue;
    names.insert(name);
    const std::string first = name.substr(0, name.find('.'));
    const bool is_number = first.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) names.insert(first);  // a number would be part of an IP address
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return sorted;
}

bool is_part_of_word(const std::string& text, std::size_t at) {
  if (at >= text.size()) return false;  // also if `at` has wrapped around below 0
  const char c = text[at];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string without_names(std::string text, const std::vector<std::string>& names) {
  constexpr std::string_view kPlaceholder = "\n";  // values are printable, so no value contains it
  for (const std::string& name : names) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      if (is_part_of_word(text, at - 1) || is_part_of_word(text, at + name.size())) continue;
      text.replace(at, name.size(), kPlaceholder);
    }
  }
  return text;
}

using ValuesByName = std::map<std::string_view, std::set<std::string_view>>;

ValuesByName values_of(const std::vector<HostItems>& hosts) {
  ValuesByName values;
  for (const HostItems& host : hosts) {
    for (const auto& [name, value] : host.items) {
      if (value) values[name].insert(*value);
    }
  }
  return values;
}

// Replaces each host's own name in its values, so that "/local/n1/cache" on n1 equals
// "/local/n2/cache" on n2. A name may also occur by chance, so it is replaced only in variables
// where that makes values of more hosts equal.
void leave_out_own_names(const std::vector<Participant>& hosts, std::vector<HostItems>& all) {
  std::vector<HostItems> nameless = all;
  for (std::size_t i = 0; i < nameless.size(); ++i) {
    const std::vector<std::string> names = own_names(hosts[i]);
    for (auto& [name, value] : nameless[i].items) value = without_names(value.value_or(""), names);
  }
  const ValuesByName before = values_of(all);
  const ValuesByName after = values_of(nameless);
  std::set<std::string, std::less<>> better;
  for (const auto& [name, values] : before) {
    if (after.at(name).size() < values.size()) better.emplace(name);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (auto& [name, value] : all[i].items) {
      if (better.contains(name)) value = nameless[i].items.at(name);
    }
  }
}

// Removes the variables that differ on almost every host, such as one for a temporary directory,
// and returns their names.
std::vector<std::string> take_varied(std::vector<HostItems>& hosts) {
  constexpr std::size_t kFewest = 4;  // fewer values can all be shown
  std::vector<std::string> varied;
  for (const auto& [name, values] : values_of(hosts)) {
    const bool is_varied = values.size() >= kFewest && 4 * values.size() >= 3 * hosts.size();
    if (is_varied) varied.emplace_back(name);
  }
  for (HostItems& host : hosts) {
    for (const std::string& name : varied) host.items.erase(name);
  }
  return varied;
}

// Describes how a variable differs from the usual value.
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
  constexpr std::array<std::string_view, 13> kNames = {"interfaces",
                                                       "routes",
                                                       "own_name",
                                                       "rdma",
                                                       "limits",
                                                       "shm",
                                                       "mpi",
                                                       "program",
                                                       "libmpi",
                                                       "program.libraries",
                                                       "software.libraries",
                                                       "software.plugins",
                                                       "program.torch"};
  if (std::find(kNames.begin(), kNames.end(), one.what) != kNames.end()) return true;
  return is_first && (one.what == "listeners" || one.what == "port_range");
}

// Whether the libraries are unknown because the program itself cannot be loaded, which another
// finding reports.
bool is_said(const facts::NotSeen& one, const facts::Facts& facts) {
  if (one.what != "software.libraries" || !facts.program) return false;
  return !facts.program->missing_interpreter.empty() || !facts.program->noexec_mount.empty() ||
         !was_seen(facts, "program.libraries");
}

// Returns the variables that the activation sets on the host but for which muster passes another
// value from the launcher.
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

Finding varied_variables(const std::vector<std::string>& names) {
  return {.id = std::string(kEnvironmentDiffers),
          .severity = Severity::kNote,
          .what = "almost every host has its own value of these variables",
          .evidence = listed(names),
          .fix =
              "nothing to do if each host needs its own value; otherwise set the variables on "
              "all hosts alike"};
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
         .fix =
             fmt::format("{}; to see the full output, run the lines of --activate with "
                         "muster exec {}",
                         activation_advice(scene.job.activate, environment.failure), kTheHosts)});
  }
  return findings;
}

Findings find_environment(const Scene& scene) {
  const bool activates = !scene.job.activate.empty();
  std::vector<Participant> hosts;
  std::vector<HostItems> items;
  std::unordered_map<std::string, const facts::Environment*> environments;
  for (const Participant& host : participants(scene)) {
    const facts::Environment& environment = host.facts->environment;
    if (activates && !environment.activated) continue;
    hosts.push_back(host);
    items.push_back({.host = host.name(), .items = items_of(scene.job, environment)});
    environments.emplace(host.name(), &environment);
  }
  leave_out_own_names(hosts, items);
  const std::vector<std::string> varied = take_varied(items);
  Findings findings;
  if (!varied.empty()) findings.push_back(varied_variables(varied));
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
      if (!matters(one, is_first) || is_said(one, *host.facts)) continue;
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
