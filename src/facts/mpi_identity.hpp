// Recognises an MPI by the strings in a library or launcher. Starts no process.
#pragma once

#include <string>
#include <string_view>

namespace muster::facts {

struct MpiIdentity {
  std::string kind = {};     // like Mpi::kind; empty: not recognised
  std::string version = {};  // empty: not found

  friend bool operator==(const MpiIdentity&, const MpiIdentity&) = default;
};

// Takes the constants (see elf_constants) of a libmpi, or of the mpiexec.hydra of Intel MPI or
// MPICH.
[[nodiscard]] MpiIdentity identify_mpi(std::string_view constants);

// Like identify_mpi, for a file. Not recognised if the file cannot be read or is not an ELF file.
[[nodiscard]] MpiIdentity identify_mpi_file(const std::string& path);

// Takes the output of `mpirun --version`.
[[nodiscard]] MpiIdentity identify_mpi_answer(std::string_view text);

}  // namespace muster::facts
