// Finds the MPI that this process belongs to, whichever ABI it has. It tries, in this order, an MPI
// that is already loaded, the one that the user names, the launcher's, and the system's.
#pragma once

#include <memory>
#include <string>

#include "mpi/library.hpp"

namespace muster::mpi {

struct Loaded {
  std::unique_ptr<Library> library;  // null if none was found
  std::string path;                  // of the MPI library
  std::string why;                   // why it was looked for there
  std::string abi;                   // "openmpi" or "mpich"
  std::string tried;                 // what was looked for and where, one entry per line
};

// Adds a prefix whose lib/libmpi.so.* is tried when no launcher and no variable points to an MPI.
// Call it before the first load_library().
void look_also_in(std::string prefix);

// Names the folder of the plugins when they are neither beside the library or program that contains
// this code nor in muster/ there.
void look_for_plugins_in(std::string folder);

// Loads the MPI without initialising it. It is never unloaded.
[[nodiscard]] Loaded load_library();

}  // namespace muster::mpi
