// Output that the engine lost on its way is brought from the hosts.
#pragma once

#include <string>

#include "remote/transport.hpp"
#include "run/output.hpp"
#include "run/record.hpp"

namespace muster::run {

// Compares what came through the engine with what each rank's shim counted; where they differ, the
// file on the host takes the place of ours, and lines that were not shown yet are shown. `base` is
// the folder of the pushed binary. False: not all of it could be had.
// Cost: one session for each stream of a rank that is incomplete, none when all is well.
[[nodiscard]] bool collect_missing(remote::Transport& transport, const std::string& base,
                                   const Record& record, Output& output);

}  // namespace muster::run
