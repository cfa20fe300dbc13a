// Estimates pi. Each rank draws random points in a square, and an all-reduce adds up how many of
// them lie in the circle.
//   muster run -H n[1-3] --nproc-per-node 2 ./pi 1000000
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>

#include "muster/job.hpp"

namespace {

// Draws `points` random points in the unit square and returns how many lie in the unit circle.
at::Tensor hits(int64_t points, int seed) {
  const at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  const at::Tensor xy = at::rand({points, 2}, generator, at::kDouble);
  return xy.square().sum(1).lt(1).sum();
}

}  // namespace

int main(int count, char** words) try {
  const int64_t points = count > 1 ? std::atoll(words[1]) : 1'000'000;  // per rank
  const muster::Job job = muster::join();
  const auto group = job.group();

  std::vector<at::Tensor> sums = {
      at::stack({hits(points, job.rank), at::full({}, points, at::kLong)})};
  group->allreduce(sums)->wait();

  const auto in_circle = sums[0][0].item<double>();
  const auto thrown = sums[0][1].item<double>();
  if (job.rank == 0) {
    std::printf("pi is about %.5f: %d ranks, %.0f points\n", 4 * in_circle / thrown, job.size,
                thrown);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "pi: %s\n", error.what());
  return 1;
}
