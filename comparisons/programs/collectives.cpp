// All-reduce through the backend, through MPI itself and through Gloo, alternating in one process.
// For every sample, rank 0 prints "BYTES SIDE SECONDS": the mean of a few calls on the slowest
// rank. Arguments: number of samples, then sizes in bytes. Gloo's ranks meet at MASTER_ADDR and
// MASTER_PORT.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "bare_mpi.hpp"
#include "muster/job.hpp"
#include "muster/mpi.hpp"

namespace {

using Clock = std::chrono::steady_clock;

std::function<void()> through(const c10::intrusive_ptr<c10d::Backend>& backend,
                              std::vector<at::Tensor>& tensors) {
  return [&tensors, backend] {
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    backend->allreduce(tensors, options)->wait();
  };
}

double sample(const std::function<void()>& operation, int calls) {
  bare_mpi::worst(0);  // a barrier, so that all begin together
  operation();
  const auto began = Clock::now();
  for (int i = 0; i < calls; ++i) operation();
  const std::chrono::duration<double> took = Clock::now() - began;
  return bare_mpi::worst(took.count() / calls);
}

}  // namespace

int main(int argc, char** argv) {
  // The setting that the backend uses when it initialises MPI itself.
  setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", 0);
  const int rank = bare_mpi::start();
  auto ours = muster::mpi::backend();
  auto other = muster::join().group("gloo")->getBackend(c10::DeviceType::CPU);
  const int samples = std::atoi(argv[1]);
  for (int word = 2; word < argc; ++word) {
    const long bytes = std::atol(argv[word]);
    std::vector<at::Tensor> tensors{at::zeros({bytes / 4})};
    const auto count = static_cast<std::size_t>(bytes / 4);
    auto* data = tensors[0].data_ptr<float>();
    const int calls = static_cast<int>(std::clamp(4'000'000L / bytes, 1L, 200L));
    std::vector<std::pair<const char*, std::function<void()>>> sides{
        {"ours", through(ours, tensors)},
        {"mpi", [=] { bare_mpi::all_reduce(data, count); }},
        {"gloo", through(other, tensors)}};
    for (int i = 0; i < samples; ++i) {
      for (const auto& [name, operation] : sides) {
        const double seconds = sample(operation, calls);
        if (rank == 0) std::printf("%ld %s %.9f\n", bytes, name, seconds);
      }
      std::ranges::reverse(sides);
    }
  }
  ours.reset();
  bare_mpi::finish();
  return 0;
}
