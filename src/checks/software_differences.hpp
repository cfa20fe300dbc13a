// How the software of hosts differs. Leaves out what follows from findings of other rules: a
// different version of PyTorch or MPI brings different libraries. Pure.
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

// The name of the item for Python's version. It is empty because no package has an empty name and
// because it then sorts first.
inline constexpr std::string_view kPythonItem = "";

[[nodiscard]] std::vector<Deviation> package_deviations(const std::vector<Participant>& hosts);

// Compares libraries by size and build id, and by content if that is known. Leaves out differences
// that follow from a different Python, from a package in `packages`, or from a different PyTorch,
// MPI or NCCL.
[[nodiscard]] std::vector<Deviation> library_deviations(const std::vector<Participant>& hosts,
                                                        std::span<const Deviation> packages);

using SoftwareByHost = std::unordered_map<std::string_view, const facts::Software*>;
[[nodiscard]] SoftwareByHost software_by_host(const std::vector<Participant>& hosts);

// Returns the library that the host loads under this name, or null if it loads none.
[[nodiscard]] const facts::Library* find_library(const SoftwareByHost& software,
                                                 const std::string& host, std::string_view name);

// The hosts whose version of Python differs from the one on most hosts.
[[nodiscard]] std::set<std::string, std::less<>> hosts_of_other_python(
    const std::vector<Participant>& hosts);

}  // namespace muster::checks
