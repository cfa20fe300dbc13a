// Common wording for findings. A line of a fix that begins with two blanks is a command to paste.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/job.hpp"

namespace muster::checks {

// A placeholder in a fix. judge() replaces it with the hosts of the finding, as in `-H n4` or `-H
// 'n[1-3]'`, because these are known only after equal findings have been merged.
inline constexpr std::string_view kTheHosts = "-H HOSTS";

// Returns "-H n4" or "-H 'n[1-3]'". Brackets are quoted because many shells interpret them.
[[nodiscard]] std::string hosts_flag(std::span<const std::string> hosts);

// The line of a fix that runs `command` in a shell on each host of the finding.
[[nodiscard]] std::string command_on_hosts(std::string_view command);

// Returns a line to put after a command in a fix: it asks the user to pass the same --activate
// again. It does not contain the activation itself, which may hold secrets, because findings are
// stored. Empty if there is no activation.
[[nodiscard]] std::string same_activation(const layout::Job& job);

// Returns "a, b, c and 5 more".
[[nodiscard]] std::string listed(std::span<const std::string> items, std::size_t most = 8);

// Returns "5.0.6 on n[1-3]".
[[nodiscard]] std::string on_hosts(std::string_view key, std::span<const std::string> hosts);

// Returns "64 MiB" or "15.6 GiB". Sizes that differ by 2 % always get different texts.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace muster::checks
