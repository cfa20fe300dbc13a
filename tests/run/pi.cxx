// An MPI program that checks its own result: rank 0 tells every rank how many pieces to use, the
// ranks compute pi by the trapezoid rule, and every rank checks the sum. The exit code is 1 if it
// is wrong.
//
// This is a user's program, not part of muster's build. The tests compile it with each MPI's own
// mpicxx.
//
//   pi [SECONDS]   prints "pi is right" after one round, or continues for this long, with one round
//                  every 10 ms
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <mpi.h>

namespace {

constexpr double kPi = 3.14159265358979323846;

double height(double x) {
  return 4 / (1 + x * x);
}

// Returns the area below `height` over this rank's part of [0, 1], which all ranks together divide
// into `pieces` pieces.
double area(int rank, int ranks, long pieces) {
  const double width = 1.0 / static_cast<double>(pieces);
  double sum = 0;
  for (long i = rank; i < pieces; i += ranks) {
    const double left = width * static_cast<double>(i);
    sum += width * (height(left) + height(left + width)) / 2;
  }
  return sum;
}

// Sends rank 0's value to all other ranks, one message each. Returns it on every rank.
long told(int rank, int ranks, long value) {
  if (rank != 0) {
    MPI_Recv(&value, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  for (int other = 1; other < ranks; ++other) {
    MPI_Send(&value, 1, MPI_LONG, other, 7, MPI_COMM_WORLD);
  }
  return value;
}

bool round_is_right(int rank, int ranks) {
  const long pieces = told(rank, ranks, rank == 0 ? 100000 : 0);
  const double mine = pieces > 0 ? area(rank, ranks, pieces) : 0;
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return std::fabs(all - kPi) < 1e-8;
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto end = Clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 0);
  int right = 0, rounds = 0, go_on = 1;
  for (; go_on != 0; ++rounds) {
    right += round_is_right(rank, ranks) ? 1 : 0;
    if (rounds == 0) (void)(std::puts("first round"), std::fflush(stdout));
    go_on = Clock::now() < end ? 1 : 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (go_on != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::printf("pi is %s on rank %d of %d\n", right == rounds ? "right" : "wrong", rank, ranks);
  MPI_Finalize();
  return right == rounds ? 0 : 1;
}
