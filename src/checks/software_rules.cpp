// What the ranks load besides the program: Python packages and shared libraries.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "checks/deviations.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/software_differences.hpp"
#include "checks/wording.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

using facts::Library;
using facts::Software;

constexpr std::size_t kMostShown = 8;
constexpr std::size_t kLongestItem = 200;

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

std::string cut(std::string text) {
  if (text.size() > kLongestItem) text = text.substr(0, kLongestItem) + "...";
  return printable(text);
}

// Returns a command that shows the whole list; empty if the finding itself can show it.
std::string see_all(const Scene& scene, std::size_t count) {
  if (count <= kMostShown) return {};
  return fmt::format(
      "; to see everything that a host would load:\n  muster facts {} --json --program {}{}",
      kTheHosts, sys::quote(std::string_view(scene.job.program.front())),
      same_activation(scene.job));
}

std::string package_text(const Difference& one) {
  const std::string name = one.name == kPythonItem ? "Python" : one.name;
  if (!one.value) return cut(name) + " is missing";
  if (!one.usual) return cut(fmt::format("{} {} is only here", name, *one.value));
  return cut(fmt::format("{} {} instead of {}", name, *one.value, *one.usual));
}

// Returns "differ from those on most hosts", or "differs from the one on most hosts" if `count` is
// 1.
std::string differ(std::size_t count, const std::string& usual_hosts) {
  return fmt::format("{} on {}", count == 1 ? "differs from the one" : "differ from those",
                     usual_hosts);
}

std::string packages_what(const Deviation& one, std::size_t differences, bool is_system) {
  if (is_system) {
    return fmt::format("{} of the operating system {}",
                       counted(differences, "Python package", "Python packages"),
                       differ(differences, one.usual_hosts));
  }
  const bool other_python = one.differences.front().name == kPythonItem;
  const std::size_t packages = differences - (other_python ? 1 : 0);
  if (packages == 0) return "the version of Python " + differ(1, one.usual_hosts);
  return fmt::format("{}{} {}", other_python ? "Python and " : "",
                     counted(packages, other_python ? "package" : "Python package",
                             other_python ? "packages" : "Python packages"),
                     differ(differences, one.usual_hosts));
}

// Whether the package matters to a job, wherever it is installed.
bool is_package_of_jobs(std::string_view name) {
  constexpr std::array<std::string_view, 12> kStarts = {
      "torch",  "pytorch",   "triton",       "nvidia-",    "numpy",   "scipy",
      "mpi4py", "deepspeed", "transformers", "accelerate", "horovod", "lightning"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [name](std::string_view start) { return name.starts_with(start); });
}

// Whether the package comes from the Linux distribution wherever it is installed, so that the
// difference may only be due to updates.
bool is_of_the_system(const Difference& one, const std::string& host,
                      const SoftwareByHost& software) {
  if (one.name == kPythonItem || is_package_of_jobs(one.name)) return false;
  const auto has = [&](const std::string& name) {
    return software.at(name)->system_packages.contains(one.name);
  };
  return (!one.value || has(host)) && (!one.usual || has(one.usual_host));
}

// Whether the library matters to a job, wherever it is installed.
bool is_about_jobs(std::string_view name) {
  constexpr std::array<std::string_view, 20> kStarts = {
      "libtorch", "libc10",  "libmpi",    "libpmix", "libnccl", "librccl", "libfabric",
      "libuc",    "libgloo", "libstdc++", "libgomp", "libcu",   "libnv",   "libibverbs",
      "libmlx",   "libefa",  "librdmacm", "libamd",  "libroc",  "mca_"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [name](std::string_view start) { return name.starts_with(start); });
}

bool is_of_the_system(const Library& library) {
  constexpr std::array<std::string_view, 4> kFolders = {"/lib/", "/lib64/", "/usr/lib/",
                                                        "/usr/lib64/"};
  const std::string& path = library.path;
  return !is_about_jobs(library.name) &&
         std::any_of(kFolders.begin(), kFolders.end(),
                     [&path](std::string_view folder) { return path.starts_with(folder); });
}

std::string library_text(const std::string& name, const Library* here, const Library* usual) {
  if (here == nullptr || here->path.empty()) return cut(name) + " is missing";
  if (usual == nullptr || usual->path.empty()) return cut(here->path) + " is only here";
  if (here->path != usual->path) {
    return fmt::format("{} instead of {}", cut(here->path), cut(usual->path));
  }
  return cut(here->path);
}

struct SplitTexts {
  std::vector<std::string> of_jobs = {};
  std::vector<std::string> of_the_system = {};
};

SplitTexts package_texts(const Deviation& one, const SoftwareByHost& software) {
  SplitTexts texts;
  for (const Difference& difference : one.differences) {
    const bool is_system = is_of_the_system(difference, one.hosts.front(), software);
    (is_system ? texts.of_the_system : texts.of_jobs).push_back(package_text(difference));
  }
  return texts;
}

SplitTexts library_texts(const Deviation& one, const SoftwareByHost& software) {
  SplitTexts texts;
  for (const Difference& difference : one.differences) {
    const Library* const here = find_library(software, one.hosts.front(), difference.name);
    const Library* const usual = find_library(software, difference.usual_host, difference.name);
    const Library* const either = here != nullptr ? here : usual;
    const bool is_system = either != nullptr && is_of_the_system(*either);
    (is_system ? texts.of_the_system : texts.of_jobs)
        .push_back(library_text(difference.name, here, usual));
  }
  return texts;
}

Finding packages_finding(const Scene& scene, const Deviation& one,
                         const std::vector<std::string>& texts, bool is_system) {
  return {.id = std::string(kPackagesDiffer),
          .severity = is_system ? Severity::kNote : Severity::kWarning,
          .hosts = one.hosts,
          .what = packages_what(one, texts.size(), is_system),
          .evidence = listed(texts, kMostShown),
          .fix = (is_system ? "install the same updates of the system on all hosts"
                            : "install the same versions on all hosts, for example from one lock "
                              "file, or activate the same environment") +
                 see_all(scene, texts.size())};
}

Finding libraries_finding(const Scene& scene, const Deviation& one,
                          const std::vector<std::string>& texts, bool is_system) {
  return {
      .id = std::string(kLibrariesDiffer),
      .severity = is_system ? Severity::kNote : Severity::kWarning,
      .hosts = one.hosts,
      .what = fmt::format("{} {}",
                          is_system ? counted(texts.size(), "system library", "system libraries")
                                    : counted(texts.size(), "library that the ranks load",
                                              "libraries that the ranks load"),
                          differ(texts.size(), one.usual_hosts)),
      .evidence = listed(texts, kMostShown),
      .fix = (is_system ? "install the same updates of the system on all hosts"
                        : "install the same builds on all hosts, or activate the same "
                          "environment") +
             see_all(scene, texts.size())};
}

}  // namespace

Findings find_software(const Scene& scene) {
  Findings findings;
  const std::vector<Participant> hosts = participants(scene);
  const SoftwareByHost software = software_by_host(hosts);
  const auto add = [&](const Deviation& one, const SplitTexts& texts, const auto& finding) {
    if (!texts.of_jobs.empty()) findings.push_back(finding(scene, one, texts.of_jobs, false));
    if (texts.of_the_system.empty()) return;
    findings.push_back(finding(scene, one, texts.of_the_system, true));
  };
  const std::vector<Deviation> packages = package_deviations(hosts);
  for (const Deviation& one : packages) add(one, package_texts(one, software), packages_finding);
  for (const Deviation& one : library_deviations(hosts, packages)) {
    add(one, library_texts(one, software), libraries_finding);
  }
  return findings;
}

std::string compared_software(const Scene& scene) {
  const std::vector<Participant> hosts = participants(scene);
  const auto knows = [](const Participant& host) {
    return host.facts->software.has_value() && was_seen(*host.facts, "software.libraries");
  };
  if (hosts.size() < 2 || !std::all_of(hosts.begin(), hosts.end(), knows)) return {};
  const Software& first = *hosts.front().facts->software;
  std::size_t unread = 0;
  std::size_t remote = 0;
  for (const Participant& host : hosts) {
    const auto& libraries = host.facts->software->libraries;
    const auto is_remote = [](const Library& one) { return one.remote; };
    const auto is_unread = [](const Library& one) {
      return !one.remote && !one.path.empty() && one.hash.empty();
    };
    const auto count = [&libraries](const auto& what) {
      return static_cast<std::size_t>(std::count_if(libraries.begin(), libraries.end(), what));
    };
    unread = std::max(unread, count(is_unread));
    remote = std::max(remote, count(is_remote));
  }
  std::string text = "compared on all hosts: ";
  if (!first.python.empty()) {
    text += fmt::format(
        "Python {}, {}, ", printable(first.python),
        counted(first.packages.size() + first.system_packages.size(), "package", "packages"));
  }
  text += counted(first.libraries.size(), "library", "libraries");
  if (unread > 0) {
    text += fmt::format("; {} by size and build-id only, until a later check has read {}", unread,
                        unread == 1 ? "it" : "them");
  }
  if (remote > 0) {
    text += fmt::format("; {} on a network file system by size and build-id", remote);
  }
  return text;
}

}  // namespace muster::checks
