// Finds the MPI that this process belongs to, whichever ABI it has: what is loaded already, what
// the user names, what the launcher comes from, and only then what the system has.
#pragma once

#include <memory>
#include <string>

#include "mpi/library.hpp"

namespace muster::mpi {

struct Loaded {
  std::unique_ptr<Library> library;  // null: none was found
  std::string path;                  // of the MPI
  std::string why;                   // it was looked for there
  std::string abi;                   // "openmpi" or "mpich"
  std::string tried;                 // what was looked for and where, one a line
};

// Where an MPI may be that no launcher and no variable points to: lib/libmpi.so.* below it. Before
// the first look for one.
void look_also_in(std::string prefix);

// Where the plugins are, when they lie neither beside the library or program that this is part of
// nor in muster/ there.
void look_for_plugins_in(std::string folder);

// Stays loaded for good. Not initialised.
[[nodiscard]] Loaded load_library();

}  // namespace muster::mpi
