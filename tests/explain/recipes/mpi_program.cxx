// A rank that does what its first argument says. With "well" and "wait" all ranks succeed;
// otherwise rank 1 fails. The second argument is a number of seconds or an exit code.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

void fail(const std::string& how, int number) {
  if (how == "abort") MPI_Abort(MPI_COMM_WORLD, number);
  if (how == "exit") _exit(number);
  if (how == "crash") raise(SIGSEGV);
  if (how == "killed") raise(SIGKILL);
  if (how == "illegal") raise(SIGILL);
  if (how == "no-communicator") MPI_Barrier(MPI_COMM_NULL);
  if (how == "too-long") {
    int one = 0;
    MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "well";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::cout << "the ranks add up to " << sum << std::endl;
  if (rank == 0 && how == "too-long") {
    const std::vector<int> ten(10);
    MPI_Send(ten.data(), 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (rank == 1) fail(how, number);
  if (how == "wait") sleep(static_cast<unsigned>(number));
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
