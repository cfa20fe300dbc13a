// Finds the MPI that this process belongs to, whichever ABI it has. It uses an MPI that is already
// loaded, or else the one that the user names. Without either, it tries the launcher's and then the
// system's.
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

// Adds an installation prefix. Its MPI is tried after those that launchers and variables point to.
// Call it before the first load_library().
void look_also_in(std::string prefix);

// Names the folder of the plugins. Needed only if they are neither beside the library or program
// that contains this code nor in the subfolder muster/.
void look_for_plugins_in(std::string folder);

// Loads the MPI without initialising it. It is never unloaded.
[[nodiscard]] Loaded load_library();

}  // namespace muster::mpi
