// Trains a linear model over MPI. A user's program: it does not use muster and is not part of its
// build. The tests compile it with each MPI's own mpicxx. linear_model.hpp describes the arguments.
#include <mpi.h>

#include "linear_model.hpp"

namespace {

// Returns this process's rank among those on its host, according to MPI.
int local_rank() {
  MPI_Comm host{};
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  linear_model::Place place{.local_rank = local_rank()};
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
  const auto sum_up = [](linear_model::Vector mine) {
    linear_model::Vector sum{};
    MPI_Allreduce(mine.data(), sum.data(), static_cast<int>(sum.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    return sum;
  };
  linear_model::train(linear_model::read_wishes(argc, argv), place, sum_up,
                      [](int code) { MPI_Abort(MPI_COMM_WORLD, code); });
  MPI_Finalize();
  return 0;
}
