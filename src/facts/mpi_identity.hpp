// Which MPI a library or a launcher is, from the strings inside it: nothing is started.
#pragma once

#include <string>
#include <string_view>

namespace muster::facts {

struct MpiIdentity {
  std::string kind = {};     // as Mpi::kind; empty: not recognised
  std::string version = {};  // empty: not found

  friend bool operator==(const MpiIdentity&, const MpiIdentity&) = default;
};

// `constants` is what elf_constants gives. A libmpi, or the mpiexec.hydra of Intel or MPICH.
[[nodiscard]] MpiIdentity identify_mpi(std::string_view constants);

// The same of a file; not recognised where it cannot be read or is no ELF.
[[nodiscard]] MpiIdentity identify_mpi_file(const std::string& path);

// What `mpirun --version` printed.
[[nodiscard]] MpiIdentity identify_mpi_answer(std::string_view text);

}  // namespace muster::facts
