// A user's program: the ranks sum their numbers.
#include <cstdio>
#include <string>
#include <vector>

#include "muster/job.hpp"

int main(int count, char** words) {
  const muster::Job job = muster::join();
  const auto group = job.group(count > 1 ? words[1] : "auto");
  std::vector<at::Tensor> sum = {at::full({1}, job.rank + 1, at::kInt)};
  group->allreduce(sum)->wait();
  std::printf("rank %d of %d: %d\n", job.rank, job.size, sum[0].item<int>());
}
