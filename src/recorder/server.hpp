// Runs a server on a socket that only the user can reach. From it `muster why` reads the operations
// that PyTorch and muster record.
#pragma once

namespace muster::recorder {

// Starts PyTorch's worker server in the folder that MUSTER_RECORDERS names, once per process and
// only if no other user can enter that folder. Returns whether the server runs and needs
// stop_serving(). Never throws. Without the folder, or with a PyTorch that has no such server,
// nothing happens.
bool serve_records() noexcept;

// Stops the server and removes its socket. This also happens when the process exits. Do not hold
// Python's global lock: a request that is being answered may need it.
void stop_serving() noexcept;

}  // namespace muster::recorder
