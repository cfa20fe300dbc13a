// Errors of NVIDIA GPUs in the kernel's log.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "facts/gpu.hpp"

namespace muster::facts {

using XidsByPci = std::map<std::string, std::vector<Xid>>;

// Lines such as "NVRM: Xid (PCI:0000:18:00): 79, ...". In front there may be what /dev/kmsg writes:
// "4,1234,5678901,-;", where the third number is the time in microseconds since `uptime_s` ago.
[[nodiscard]] XidsByPci parse_xids(std::string_view text, double uptime_s);

// From /dev/kmsg, or else from the journal of the last day. An Error where neither may be read.
[[nodiscard]] Result<XidsByPci> read_xids(const std::string& kmsg, const std::string& journalctl,
                                          std::chrono::milliseconds deadline);

}  // namespace muster::facts
