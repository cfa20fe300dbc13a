// How findings say things, so that all rules say them alike. A line of a fix that begins with two
// blanks is a command to paste.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/job.hpp"

namespace muster::checks {

// Stands in a fix for the hosts of the finding, which are known when equal findings are one: judge
// puts `-H n4` or `-H 'n[1-3]'` in its place.
inline constexpr std::string_view kTheHosts = "-H HOSTS";

// "-H n4", or "-H 'n[1-3]'": many shells take brackets for a pattern.
[[nodiscard]] std::string hosts_flag(std::span<const std::string> hosts);

// The line that runs `command` in the shell of each host of the finding.
[[nodiscard]] std::string command_on_hosts(std::string_view command);

// What follows a command that is to see the hosts in the same environment as now, as a line of its
// own. Not the activation itself: it may hold secrets, and findings are kept. Empty: there is none.
[[nodiscard]] std::string same_activation(const layout::Job& job);

// "a, b, c and 5 more".
[[nodiscard]] std::string listed(std::span<const std::string> items, std::size_t most = 8);

// The key and the hosts of each group: "5.0.11 on n[1-3], 5.0.6 on n4".
[[nodiscard]] std::string on_hosts(std::string_view key, std::span<const std::string> hosts);

// "64 MiB", "15.6 GiB": sizes that differ by 2 % never look alike.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace muster::checks
