// Compares the hosts with their saved states.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks/changes.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "hosts/fold.hpp"
#include "report/markup.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

struct PartWords {
  Part part;
  std::string_view id;
  const char* name;  // used if several things have changed: "its GPUs"
  const char* fix;   // used if the change is for the worse
};

constexpr std::array<PartWords, 7> kParts = {{
    {Part::kMemory, kMemoryChanged, "memory",
     "look for a failed memory module: the BIOS and the service processor (BMC) name it"},
    {Part::kCpus, kCpuChanged, "CPUs",
     "look for CPUs that are switched off or hidden (lscpu), changed BIOS settings and limits of "
     "the container"},
    {Part::kGpus, kGpuChanged, "GPUs",
     "look for the cause in nvidia-smi or amd-smi and in the kernel's log (NVRM, amdgpu)"},
    {Part::kRdma, kRdmaChanged, "RDMA ports",
     "check the cable, the switch port and the output of ibstat or rdma link on the host"},
    {Part::kInterfaces, kInterfaceChanged, "network interfaces",
     "check the cable, the switch port and the interface's settings (ip address, ethtool)"},
    {Part::kLimits, kLimitChanged, "limits",
     "restore the limit: ulimit in /etc/security/limits.d, /dev/shm in /etc/fstab or in the "
     "container's options"},
    {Part::kSoftware, kSoftwareChanged, "software", ""},
}};

// The devices that changed in the same way, which are reported together.
struct Alike {
  Change change;
  std::vector<std::string> devices;
};

std::vector<Alike> group_alike(const std::vector<Change>& changes) {
  std::vector<Alike> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  for (const Change& change : changes) {
    const auto [at, is_new] =
        index.emplace(std::tuple(change.aspect, change.now, change.then), groups.size());
    if (is_new) groups.push_back({.change = change, .devices = {}});
    if (!change.of.empty()) groups[at->second].devices.push_back(change.of);
  }
  return groups;
}

// Shortens text from a saved file, which may contain anything.
std::string short_text(const std::string& text) {
  constexpr std::size_t kMostCharacters = 160;
  return report::shortened(text, kMostCharacters);
}

std::string subject_of(const Alike& group) {
  constexpr std::size_t kMostDevices = 4;
  if (group.devices.empty()) return group.change.aspect;
  return fmt::format("{} of {}", group.change.aspect,
                     short_text(listed(group.devices, kMostDevices)));
}

std::string details(const std::vector<Alike>& groups) {
  constexpr std::size_t kMostDetails = 6;
  std::vector<std::string> texts;
  for (const Alike& group : groups) {
    texts.push_back(fmt::format("{}: {} (was {})", subject_of(group), short_text(group.change.now),
                                short_text(group.change.then)));
  }
  const std::size_t shown = std::min(texts.size(), kMostDetails);
  std::string text = fmt::format("{}", fmt::join(std::span(texts).first(shown), "; "));
  if (shown < texts.size()) text += fmt::format("; and {} more", texts.size() - shown);
  return text;
}

std::string what_changed(const PartWords& part, const std::vector<Alike>& groups, bool for_worse,
                         const std::string& date) {
  if (groups.size() > 1 && for_worse) {
    return fmt::format("its {} are worse than on {}", part.name, date);
  }
  if (groups.size() > 1) {
    const bool plural = std::string_view(part.name).ends_with('s');
    return fmt::format("its {} {} changed since {}", part.name, plural ? "have" : "has", date);
  }
  const Alike& only = groups.front();
  return fmt::format("{} {} is {}; it was {} on {}", only.devices.empty() ? "its" : "the",
                     subject_of(only), short_text(only.change.now), short_text(only.change.then),
                     date);
}

// Returns the command that saves the state of the hosts.
std::string save_command(const layout::Job& job) {
  std::string command = fmt::format("  muster check {}", kTheHosts);
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", flag, sys::quote(std::string_view(value)));
  };
  add("--engine", job.engine);
  add("--launcher", job.launcher);
  return command + " --save" + same_activation(job);
}

Finding about_changes(const PartWords& part, const std::vector<Change>& changes, bool for_worse,
                      const Participant& host, const facts::SavedState& saved,
                      const layout::Job& job) {
  const std::vector<Alike> groups = group_alike(changes);
  const std::string accept =
      fmt::format("if you intended the change, save the new state:\n{}", save_command(job));
  return {.id = std::string(part.id),
          .severity = for_worse ? Severity::kWarning : Severity::kNote,
          .hosts = {host.name()},
          .what = what_changed(part, groups, for_worse, facts::date_text(saved.saved_s)),
          .evidence = groups.size() > 1 ? details(groups) : "",
          .fix = for_worse ? fmt::format("{}; {}", part.fix, accept) : accept};
}

Finding not_compared(const Participant& host, std::string why, std::string fix) {
  return {.id = std::string(kSavedStateUnusable),
          .severity = Severity::kNote,
          .hosts = {host.name()},
          .what = "not compared with its saved state",
          .evidence = std::move(why),
          .fix = std::move(fix)};
}

void add_changes(const Scene& scene, const Participant& host, const facts::SavedState& saved,
                 const std::vector<Change>& all, Findings& findings) {
  for (const PartWords& part : kParts) {
    for (const bool for_worse : {true, false}) {
      std::vector<Change> some;
      std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const Change& change) {
        return change.part == part.part && change.for_worse == for_worse;
      });
      if (some.empty()) continue;
      findings.push_back(about_changes(part, some, for_worse, host, saved, scene.job));
    }
  }
}

using StatesByHost = std::map<std::string_view, const facts::SavedState*>;

StatesByHost states_by_host(const Scene& scene) {
  StatesByHost states;
  for (const facts::SavedState& one : scene.saved) states.emplace(one.host, &one);
  return states;
}

bool is_comparable(const facts::SavedState& saved, const facts::Facts& now) {
  return saved.problem.empty() && saved.facts && saved.facts->hostname == now.hostname;
}

}  // namespace

Findings find_changes(const Scene& scene) {
  Findings findings;
  const StatesByHost states = states_by_host(scene);
  for (const Participant& host : participants(scene)) {
    const auto found = states.find(host.name());
    if (found == states.end()) continue;
    const facts::SavedState& saved = *found->second;
    if (saved.facts && is_comparable(saved, *host.facts)) {
      add_changes(scene, host, saved, changes_between(*saved.facts, *host.facts), findings);
    } else if (!saved.problem.empty()) {
      findings.push_back(not_compared(
          host, saved.problem, "remove the file, or correct its owner and mode; then save again"));
    } else if (saved.facts) {
      findings.push_back(not_compared(
          host,
          fmt::format("the host calls itself {}, but the saved state is that of {}",
                      short_text(host.facts->hostname), short_text(saved.facts->hostname)),
          fmt::format("if you replaced the machine, save the state of the new one:\n{}",
                      save_command(scene.job))));
    }
  }
  return findings;
}

std::string compared_states(const Scene& scene) {
  const StatesByHost states = states_by_host(scene);
  std::vector<std::string> compared, without;
  for (const Participant& host : participants(scene)) {
    const auto found = states.find(host.name());
    const bool has_none =
        found == states.end() || (found->second->problem.empty() && !found->second->facts);
    if (has_none) {
      without.push_back(host.name());
    } else if (is_comparable(*found->second, *host.facts)) {
      compared.push_back(host.name());
    }
  }
  if (compared.empty()) {
    return without.empty() ? "" : fmt::format("no saved state of {}", hosts::fold(without));
  }
  const std::string text =
      fmt::format("compared with the saved state of {}", hosts::fold(compared));
  if (without.empty()) return text;
  return fmt::format("{}; {} {} none", text, hosts::fold(without),
                     without.size() == 1 ? "has" : "have");
}

}  // namespace muster::checks
