#include <stdexcept>
#include <string>
#include <string_view>

#include "muster/mpi.hpp"
#include "torch/group.hpp"

namespace muster {
namespace {

// Joins the indented lines below a heading: "It tried:\n  a\n  b" becomes "It tried: a; b".
std::string in_one_line(std::string text) {
  constexpr std::string_view kBreak = "\n  ";
  for (size_t at = text.find(kBreak); at != std::string::npos; at = text.find(kBreak, at)) {
    const bool is_first = at > 0 && text[at - 1] == ':';
    text.replace(at, kBreak.size(), is_first ? " " : "; ");
  }
  return text;
}

}  // namespace

Usable mpi_usable() {
  const mpi::Found found = mpi::find();
  return {.usable = found.usable, .text = in_one_line(found.text)};
}

BackendPointer mpi_backend(const Job& job, const GroupOptions& options) {
  BackendPointer backend =
      mpi::backend({.timeout = options.timeout, .stage_cuda = options.stage_cuda});
  if (backend->getRank() == job.rank && backend->getSize() == job.size) return backend;
  throw std::runtime_error(
      "MPI says that this is rank " + std::to_string(backend->getRank()) + " of " +
      std::to_string(backend->getSize()) + ", but the job says: " + job.describe() +
      "\n  hint: MPI finds the other ranks only under an mpirun or srun of the same MPI; start the "
      "job with one (muster run --engine ...), or use \"gloo\"");
}

}  // namespace muster
