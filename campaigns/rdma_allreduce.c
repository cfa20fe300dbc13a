// One all-reduce of 4 MiB, for campaigns/rdma.
#include <mpi.h>
#include <stdio.h>

enum { kCount = 1 << 20 };
static float values[kCount];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < kCount; ++i) values[i] = (float)(rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, values, kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += values[i] != (float)(size * (size + 1) / 2);
  printf("rank %d of %d: %d of %d sums are wrong\n", rank, size, wrong, kCount);
  MPI_Finalize();
  return wrong != 0;
}
