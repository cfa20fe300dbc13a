// Serves what PyTorch and we record to `muster why`, on a socket that only the user can reach.
#pragma once

namespace muster::recorder {

// Starts PyTorch's worker server in the folder that MUSTER_RECORDERS names, once per process and
// only if nobody else can enter that folder. Whether there is something to stop now. Never throws;
// without the folder, or with a PyTorch that has no such server, nothing happens.
bool serve_records() noexcept;

// Ends the server and removes its socket. The end of the process does it too. Do not hold Python's
// lock: a request that is being answered may need it.
void stop_serving() noexcept;

}  // namespace muster::recorder
