// Prints what muster::join found, or makes groups and uses them.
// usage: job_probe who | job_probe group BACKEND TIMEOUT_MS [hold]
// hold: keeps the groups until a signal arrives.
#include <cstdio>
#include <exception>
#include <string>

#include <unistd.h>

#include "muster/job.hpp"

namespace {

int sum_of_ranks(c10d::ProcessGroup& group) {
  std::vector<at::Tensor> tensors = {at::full({3}, group.getRank() + 1, at::kInt)};
  group.allreduce(tensors)->wait();
  return tensors[0][2].item<int>();
}

void who(const muster::Job& job) {
  const muster::GroupChoice choice = job.group_choice();
  std::printf("%s\n%s: %s\n", job.describe().c_str(), choice.backend.c_str(), choice.why.c_str());
}

// Makes two groups that exist at the same time. What they store must not be mixed up.
void group(const muster::Job& job, const std::string& backend, int timeout_ms, bool hold) {
  const muster::GroupOptions options{.timeout = std::chrono::milliseconds(timeout_ms)};
  const auto first = job.group(backend, options);
  const auto second = job.group(backend, options);
  std::printf("rank %d of %d: %s %d, %s %d, over %s\n", first->getRank(), first->getSize(),
              first->getGroupName().c_str(), sum_of_ranks(*first), second->getGroupName().c_str(),
              sum_of_ranks(*second), first->getBackendName().c_str());
  std::fflush(stdout);
  if (hold) ::pause();
}

}  // namespace

int main(int count, char** words) try {
  const muster::Job job = muster::join();
  if (count == 2 && std::string(words[1]) == "who") {
    who(job);
  } else if ((count == 4 || count == 5) && std::string(words[1]) == "group") {
    group(job, words[2], std::stoi(words[3]), count == 5);
  } else {
    std::fprintf(stderr, "usage: job_probe who | job_probe group BACKEND TIMEOUT_MS [hold]\n");
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
