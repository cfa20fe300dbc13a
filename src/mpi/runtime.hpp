// MPI in this process: loaded and initialised once, left in good order or at once.
#pragma once

#include "mpi/loader.hpp"
#include "mpi/progress.hpp"

namespace muster::mpi {

// The MPI of this process, looked for once.
[[nodiscard]] Loaded& loaded_library();

// What MPI granted; after process_progress only.
[[nodiscard]] ThreadLevel process_thread_level();

// Operations that nobody waited for end, or fail, and what follows them is called: for a language
// whose code cannot be called any more when the process exits.
void settle();

// Of the whole process, until its end. Throws what could not be found or begun. Collective the
// first time.
[[nodiscard]] Progress& process_progress();

}  // namespace muster::mpi
