#include <stdexcept>

#include "muster/mpi.hpp"
#include "torch/group.hpp"

namespace muster {

Usable mpi_usable() {
  return {.usable = false, .text = "the MPI backend is not built in"};
}

BackendPointer mpi_backend(const Job&, const GroupOptions&) {
  throw std::runtime_error(
      "the MPI backend is not built in\n  hint: take Gloo: job.group(\"gloo\")");
}

}  // namespace muster
