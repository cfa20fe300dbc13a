// Serves PyTorch's store, through which ranks find each other, in place of rank 0's program.
// PyTorch itself would listen on all interfaces; this server listens only at the master address.
#pragma once

#include <string>

#include "agent/rank_environment.hpp"
#include "agent/record.hpp"
#include "agent/signals.hpp"
#include "base/error.hpp"

namespace muster::agent {

struct StoreServer {
  const std::string& python;       // the interpreter that runs rank 0's program
  const Environment& environment;  // of rank 0's program; has MASTER_ADDR and MASTER_PORT
  int err;                         // receives error messages until the server serves
  const SignalGuard& signals;
};

// Starts the server. It ends with this process, or when `end_server` is called.
[[nodiscard]] Result<ProcessId> start_server(const StoreServer& server);
void end_server(const ProcessId& server);

}  // namespace muster::agent
