// Errors of NVIDIA GPUs in the kernel's log ("Xids").
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

// Parses lines such as "NVRM: Xid (PCI:0000:18:00): 79, ...". They may begin with the prefix of
// /dev/kmsg, "4,1234,5678901,-;", whose third number is the time since boot in microseconds. The
// boot was `uptime_s` ago.
[[nodiscard]] XidsByPci parse_xids(std::string_view text, double uptime_s);

// Reads /dev/kmsg, or else the last day of the journal. Fails if neither may be read.
[[nodiscard]] Result<XidsByPci> read_xids(const std::string& kmsg, const std::string& journalctl,
                                          std::chrono::milliseconds deadline);

}  // namespace muster::facts
