// MPI called directly, for comparison. This header includes no MPI header, because the program is
// linked once for each ABI.
#pragma once

#include <cstddef>

namespace bare_mpi {

int start();  // returns the rank; uses MPI_THREAD_MULTIPLE, as the backend does
void all_reduce(float* data, std::size_t count);
double worst(double seconds);  // returns the largest value of all ranks
void finish();

}  // namespace bare_mpi
