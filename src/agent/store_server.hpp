// Serves PyTorch's store, the place where ranks find each other, in place of rank 0's program.
// PyTorch itself listens on all interfaces; this server listens at the master address only.
#pragma once

#include <string>

#include "agent/rank_environment.hpp"
#include "agent/record.hpp"
#include "agent/signals.hpp"
#include "base/error.hpp"

namespace muster::agent {

struct StoreServer {
  const std::string& python;       // the interpreter that runs rank 0's program
  const Environment& environment;  // its program's, with MASTER_ADDR and MASTER_PORT
  int err;                         // where the server complains until it serves
  const SignalGuard& signals;
};

// The server ends with this process, or when `end_server` ends it.
[[nodiscard]] Result<ProcessId> start_server(const StoreServer& server);
void end_server(const ProcessId& server);

}  // namespace muster::agent
