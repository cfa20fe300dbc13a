// The single values of a host: its name, its system, its limits.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "facts/facts.hpp"

namespace muster::facts {

// The PRETTY_NAME of an /etc/os-release, without its quotes.
[[nodiscard]] std::string parse_os_release(std::string_view text);

// The addresses in what `getent ahosts` prints, each once.
[[nodiscard]] std::vector<std::string> parse_ahosts(std::string_view text);

// Whether the kernel ignores the limit of locked memory: of a process with CAP_IPC_LOCK, unless a
// user namespace gave it that capability. From /proc/self/status and /proc/self/uid_map.
[[nodiscard]] bool locks_without_limit(std::string_view status, std::string_view uid_map);

// Name, system, memory, limits, /dev/shm and the range of automatic ports; what cannot be read is
// added to not_seen.
void read_host_values(Facts& facts);

// Asks the host's own resolver. An unknown name is an empty list.
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& name,
                                                       std::chrono::milliseconds deadline);

}  // namespace muster::facts
