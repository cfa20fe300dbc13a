// Single values of a host: its name, its operating system, its limits.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::facts {

// The PRETTY_NAME in an /etc/os-release, without quotes.
[[nodiscard]] std::string parse_os_release(std::string_view text);

// The addresses in the output of `getent ahosts`, without duplicates.
[[nodiscard]] std::vector<std::string> parse_ahosts(std::string_view text);

// Whether the kernel ignores the limit on locked memory, which it does for a process with
// CAP_IPC_LOCK outside user namespaces. Takes /proc/self/status and /proc/self/uid_map.
[[nodiscard]] bool locks_without_limit(std::string_view status, std::string_view uid_map);

// Reads name, system, memory, limits, /dev/shm and the range of ephemeral ports. What cannot be
// read gets an entry in not_seen.
void read_host_values(Facts& facts);

// Resolves the name as this host does. Returns an empty list for an unknown name.
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& name,
                                                       std::chrono::milliseconds deadline);

}  // namespace muster::facts
