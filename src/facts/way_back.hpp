// Whether this host can connect to the launcher, as the daemons of an MPI's mpirun must.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace muster::facts {

// Why none of the addresses answers on the port; empty: one does. A refused connection is an
// answer. Tries all at once and stops at the first answer.
[[nodiscard]] std::string why_unreachable(const std::vector<std::string>& addresses, int port,
                                          std::chrono::milliseconds deadline);

}  // namespace muster::facts
