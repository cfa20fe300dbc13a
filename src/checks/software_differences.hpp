// How the software of hosts differs, without what other rules report: a PyTorch or MPI of another
// version brings other libraries with it. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checks/deviations.hpp"
#include "checks/participant.hpp"

namespace muster::checks {

// The item that holds Python's version. No package is called so, and it comes first.
inline constexpr std::string_view kPythonItem = "";

[[nodiscard]] std::vector<Deviation> package_deviations(const std::vector<Participant>& hosts);

// By size and build-id, and by content where that is known. Nothing of what follows from another
// Python, from a package that differs (`packages`), or from another PyTorch, MPI or NCCL.
[[nodiscard]] std::vector<Deviation> library_deviations(const std::vector<Participant>& hosts,
                                                        std::span<const Deviation> packages);

using SoftwareByHost = std::unordered_map<std::string_view, const facts::Software*>;
[[nodiscard]] SoftwareByHost software_by_host(const std::vector<Participant>& hosts);

// Null: the host does not load it.
[[nodiscard]] const facts::Library* find_library(const SoftwareByHost& software,
                                                 const std::string& host, std::string_view name);

// Hosts whose Python has another version than on most hosts.
[[nodiscard]] std::set<std::string, std::less<>> hosts_of_other_python(
    const std::vector<Participant>& hosts);

}  // namespace muster::checks
