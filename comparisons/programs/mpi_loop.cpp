// MPI_Allreduce called directly, without any of muster's code: the peer of muster-bench's "bare".
// Rank 0 prints one number: the mean seconds per call on the slowest rank.
// usage: mpi_loop_openmpi BYTES ITERATIONS
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

namespace {

constexpr int kWarmUps = 10;

void reduce(std::vector<float>& data) {
  MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const long bytes = argc == 3 ? std::atol(argv[1]) : 0;
  const int iterations = argc == 3 ? std::atoi(argv[2]) : 0;
  if (bytes < 4 || iterations < 1) {
    std::fputs("usage: mpi_loop_openmpi BYTES ITERATIONS\n", stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  std::vector<float> data(static_cast<std::size_t>(bytes) / sizeof(float));
  for (int i = 0; i < kWarmUps; ++i) reduce(data);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) reduce(data);
  double took = MPI_Wtime() - began;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%.9g\n", took / iterations);
  MPI_Finalize();
  return 0;
}
