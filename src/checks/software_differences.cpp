#include "checks/software_differences.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "checks/host_groups.hpp"

namespace muster::checks {
namespace {

using facts::Library;
using facts::Software;

using Names = std::set<std::string, std::less<>>;  // names of hosts or of packages

// Returns the hosts that do not have the usual value. Empty values are not compared.
template <class ValueOf>
Names odd_hosts(const std::vector<Participant>& hosts, const ValueOf& value_of) {
  HostGroups groups;
  for (const Participant& host : hosts) {
    const std::string value = value_of(*host.facts);
    if (!value.empty()) groups.add(value, host.name());
  }
  Names odd;
  for (const HostGroup& group : groups.odd()) odd.insert(group.hosts.begin(), group.hosts.end());
  return odd;
}

std::string python_of(const facts::Facts& facts) {
  return facts.software ? facts.software->python : "";
}
std::string torch_of(const facts::Facts& facts) {
  return facts.program ? facts.program->torch : "";
}
std::string nccl_of(const facts::Facts& facts) {
  return facts.torch.nccl;
}
std::string mpi_of(const facts::Facts& facts) {
  return facts.program && facts.program->libmpi ? facts.program->libmpi->hash : "";
}

// The hosts for which a different version of PyTorch, NCCL, MPI or Python is reported anyway.
struct Told {
  Names torch;
  Names nccl;
  Names mpi;
  Names python;
};

Told told_of(const std::vector<Participant>& hosts) {
  return {.torch = odd_hosts(hosts, torch_of),
          .nccl = odd_hosts(hosts, nccl_of),
          .mpi = odd_hosts(hosts, mpi_of),
          .python = odd_hosts(hosts, python_of)};
}

bool comes_with_torch(std::string_view package) {
  return package == "torch" || package == "torchgen" || package == "triton" ||
         package.starts_with("pytorch-triton") || package.starts_with("nvidia-");
}

bool is_libmpi(std::string_view name) {
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         name.starts_with("libmpi_abi.so");
}

bool comes_with_mpi(std::string_view name) {
  return name.starts_with("libmpi") || name.starts_with("libopen-") || name.starts_with("mca_") ||
         name.starts_with("libpmix") || name.starts_with("libprrte") ||
         name.starts_with("libevent");
}

// The top directory of a file inside site-packages: "nvidia" for
// .../site-packages/nvidia/nccl/lib/.
std::string top_folder(std::string_view path) {
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(packages);
    if (at == std::string_view::npos) continue;
    path.remove_prefix(at + packages.size());
    std::string folder(path.substr(0, path.find('/')));
    std::replace(folder.begin(), folder.end(), '_', '-');
    return folder.substr(0, folder.find('.'));  // "numpy.libs" belongs to numpy
  }
  return {};
}

bool is_of_package(std::string_view path, const Names& packages) {
  const std::string folder = top_folder(path);
  if (folder.empty()) return false;
  const auto first = packages.lower_bound(folder);
  return first != packages.end() && (*first == folder || first->starts_with(folder + "-"));
}

bool is_below_packages_of(std::string_view path, const facts::Program& program) {
  const std::string folder = std::filesystem::path(program.torch_folder).parent_path().string();
  return !folder.empty() && path.starts_with(folder + "/");
}

// Whether a difference in this library follows, or may follow, from another difference that is
// reported anyway.
bool is_told(const Library& library, const Participant& host, const Told& told,
             const Names& odd_packages) {
  const facts::Facts& facts = *host.facts;
  if (told.python.contains(host.name())) return true;
  if (is_of_package(library.path, odd_packages)) return true;
  if (told.nccl.contains(host.name()) && library.name.starts_with("libnccl.so")) return true;
  if (told.mpi.contains(host.name()) && comes_with_mpi(library.name)) return true;
  if (!facts.program) return false;
  const facts::Program& program = *facts.program;
  if (program.libmpi && is_libmpi(library.name)) return true;
  if (told.torch.contains(host.name()) && is_below_packages_of(library.path, program)) return true;
  const auto& missing = program.missing_libraries;
  return std::find(missing.begin(), missing.end(), library.name) != missing.end();
}

std::optional<std::string> size_and_build(const Library& library) {
  return library.path.empty() ? "not found"
                              : std::to_string(library.bytes) + " " + library.build_id;
}

// For each host, the names of the items that differ.
std::map<std::string, Names> odd_items_by_host(std::span<const Deviation> deviations) {
  std::map<std::string, Names> odd;
  for (const Deviation& one : deviations) {
    for (const std::string& host : one.hosts) {
      for (const Difference& difference : one.differences) odd[host].insert(difference.name);
    }
  }
  return odd;
}

// Marks packages as unknown, not missing, on hosts that reported only some of their packages.
void add_unknown_packages(const std::vector<Participant>& hosts, std::vector<HostItems>& all) {
  Names partial;
  for (const Participant& host : hosts) {
    if (host.facts->software && !host.facts->software->all_packages) partial.insert(host.name());
  }
  if (partial.empty()) return;
  Names names;
  for (const HostItems& one : all) {
    for (const auto& [name, version] : one.items) names.insert(name);
  }
  for (HostItems& one : all) {
    if (!partial.contains(one.host)) continue;
    for (const std::string& name : names) one.items.emplace(name, std::nullopt);
  }
}

using ItemOf = std::optional<std::string> (*)(const Library&);
using LibraryByName = std::map<std::string, const Library*>;

LibraryByName examples_of(const std::vector<Participant>& hosts) {
  LibraryByName examples;
  for (const Participant& host : hosts) {
    if (!host.facts->software) continue;
    for (const Library& library : host.facts->software->libraries) {
      examples.emplace(library.name, &library);
    }
  }
  return examples;
}

// Returns the libraries of each host. A library that a host lacks counts as a difference only if
// its list of libraries is complete and no reported cause explains the lack.
std::vector<HostItems> library_items(const std::vector<Participant>& hosts, const Told& told,
                                     const std::map<std::string, Names>& odd_packages,
                                     ItemOf item_of) {
  const LibraryByName examples = examples_of(hosts);
  const Names none;
  std::vector<HostItems> all;
  for (const Participant& host : hosts) {
    if (!host.facts->software || host.facts->software->libraries.empty()) continue;
    const auto odd = odd_packages.find(host.name());
    const Names& packages = odd == odd_packages.end() ? none : odd->second;
    HostItems own{.host = host.name(), .items = {}};
    for (const Library& library : host.facts->software->libraries) {
      const bool skipped = is_told(library, host, told, packages);
      own.items[library.name] = skipped ? std::nullopt : item_of(library);
    }
    for (const auto& [name, example] : examples) {
      const bool is_absent = !own.items.contains(name);
      const bool skipped = is_absent && (!host.facts->software->all_libraries ||
                                         is_told(*example, host, told, packages));
      if (skipped) own.items.emplace(name, std::nullopt);
    }
    all.push_back(std::move(own));
  }
  return all;
}

std::optional<std::string> content_if_read(const Library& library) {
  if (library.hash.empty()) return std::nullopt;
  return library.hash;
}

// Marks the content of libraries whose size or build id differs as unknown. Those differences are
// reported already, and the content must not influence which content is the usual one.
void forget(std::span<const Deviation> sizes, std::vector<HostItems>& contents) {
  const std::map<std::string, Names> odd = odd_items_by_host(sizes);
  for (HostItems& one : contents) {
    const auto found = odd.find(one.host);
    if (found == odd.end()) continue;
    for (const std::string& name : found->second) one.items[name] = std::nullopt;
  }
}

}  // namespace

std::vector<Deviation> package_deviations(const std::vector<Participant>& hosts) {
  const Told told = told_of(hosts);
  std::vector<HostItems> all;
  for (const Participant& host : hosts) {
    const auto& software = host.facts->software;
    if (!software || software->python.empty()) continue;
    HostItems own{.host = host.name(), .items = {}};
    own.items.emplace(kPythonItem, software->python);
    for (const auto& [name, version] : software->packages) own.items.emplace(name, version);
    for (const auto& [name, version] : software->system_packages) own.items.emplace(name, version);
    all.push_back(std::move(own));
  }
  add_unknown_packages(hosts, all);
  std::vector<Deviation> found = deviations(all);
  for (Deviation& one : found) {
    const std::string& host = one.hosts.front();
    std::erase_if(one.differences, [&](const Difference& difference) {
      const bool of_torch = told.torch.contains(host) && comes_with_torch(difference.name);
      return of_torch || (told.nccl.contains(host) && difference.name.starts_with("nvidia-nccl"));
    });
  }
  std::erase_if(found, [](const Deviation& one) { return one.differences.empty(); });
  return found;
}

std::vector<Deviation> library_deviations(const std::vector<Participant>& hosts,
                                          std::span<const Deviation> packages) {
  const Told told = told_of(hosts);
  const std::map<std::string, Names> odd_packages = odd_items_by_host(packages);
  std::vector<Deviation> all = deviations(library_items(hosts, told, odd_packages, size_and_build));
  std::vector<HostItems> contents = library_items(hosts, told, odd_packages, content_if_read);
  forget(all, contents);
  std::vector<Deviation> others = deviations(contents);
  std::move(others.begin(), others.end(), std::back_inserter(all));
  return all;
}

SoftwareByHost software_by_host(const std::vector<Participant>& hosts) {
  SoftwareByHost all;
  for (const Participant& host : hosts) {
    if (host.facts->software) all.emplace(host.name(), &*host.facts->software);
  }
  return all;
}

const facts::Library* find_library(const SoftwareByHost& software, const std::string& host,
                                   std::string_view name) {
  const auto found = software.find(host);
  if (found == software.end()) return nullptr;
  const auto& libraries = found->second->libraries;
  const auto library = std::find_if(libraries.begin(), libraries.end(),
                                    [name](const Library& one) { return one.name == name; });
  return library == libraries.end() ? nullptr : &*library;
}

Names hosts_of_other_python(const std::vector<Participant>& hosts) {
  return odd_hosts(hosts, python_of);
}

}  // namespace muster::checks
