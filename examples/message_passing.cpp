// Rank 0 sends a tensor to every other rank. Each rank prints the tensor that it has in the end.
//   muster run -H n[1-3] --nproc-per-node 2 ./message_passing
#include <cstdio>
#include <exception>
#include <vector>

#include "muster/job.hpp"

namespace {

constexpr int kTag = 0;

at::Tensor pass_on(c10d::ProcessGroup& group) {
  if (group.getRank() != 0) {
    std::vector<at::Tensor> arriving = {at::zeros({3})};
    group.recv(arriving, 0, kTag)->wait();
    return arriving[0];
  }
  std::vector<at::Tensor> leaving = {at::arange(1, 4, at::kFloat) / 2};
  for (int rank = 1; rank < group.getSize(); ++rank) group.send(leaving, rank, kTag)->wait();
  return leaving[0];
}

}  // namespace

int main() try {
  const muster::Job job = muster::join();
  const auto group = job.group();
  const at::Tensor tensor = pass_on(*group);
  std::printf("rank %d of %d has %g %g %g\n", job.rank, job.size, tensor[0].item<double>(),
              tensor[1].item<double>(), tensor[2].item<double>());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "message_passing: %s\n", error.what());
  return 1;
}
