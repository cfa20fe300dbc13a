// MPI as a program calls it by itself, to compare with. No MPI's header: the program is linked once
// for each ABI.
#pragma once

#include <cstddef>

namespace bare_mpi {

int start();  // the rank; MPI_THREAD_MULTIPLE, as the backend asks for
void all_reduce(float* data, std::size_t count);
double worst(double seconds);  // of all ranks
void finish();

}  // namespace bare_mpi
