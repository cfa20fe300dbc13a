// Loads and initialises MPI once per process. At exit, finalises it if this code initialised it and
// nothing has failed.
#pragma once

#include "mpi/loader.hpp"
#include "mpi/progress.hpp"

namespace muster::mpi {

// Returns the MPI of this process. The first call looks for it.
[[nodiscard]] Loaded& loaded_library();

// Returns the thread level that MPI granted. Valid after process_progress().
[[nodiscard]] ThreadLevel process_thread_level();

// Waits until pending operations have ended and their callbacks have returned, and aborts those
// that take too long. Languages such as Python need this, because their code cannot be called any
// more during process exit.
void settle();

// Returns the only Progress of this process, which is never destroyed. The first call is collective
// and throws if MPI cannot be found or initialised.
[[nodiscard]] Progress& process_progress();

}  // namespace muster::mpi
