// MPI in this process: loaded and initialised once, and finalised in good order or not at all.
#pragma once

#include "mpi/loader.hpp"
#include "mpi/progress.hpp"

namespace muster::mpi {

// The MPI of this process. The first call looks for it.
[[nodiscard]] Loaded& loaded_library();

// The thread level that MPI granted. Valid after process_progress().
[[nodiscard]] ThreadLevel process_thread_level();

// Waits until pending operations have ended and their callbacks have returned. For languages such
// as Python, whose code cannot be called any more during process exit.
void settle();

// The Progress of the whole process, which lives until its end. The first call is collective and
// throws if MPI cannot be found or initialised.
[[nodiscard]] Progress& process_progress();

}  // namespace muster::mpi
