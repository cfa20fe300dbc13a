#include "layout/gpus.hpp"

namespace muster::layout {

facts::GpuVariables gpu_variables_of_ranks(const Job& job, const facts::Facts& host) {
  facts::GpuVariables variables;
  for (const std::string_view name : facts::gpu_variables()) {
    const std::string key(name);
    const auto given = job.env_values.find(key);
    if (given != job.env_values.end()) variables.insert(*given);
    const auto seen = host.environment.seen.find(key);
    if (seen != host.environment.seen.end()) variables.insert(*seen);
  }
  return variables;
}

int gpus_for_ranks(const Job& job, const facts::Facts& host) {
  return facts::count_gpus(host.gpus, gpu_variables_of_ranks(job, host));
}

bool all_ranks_have_cpus(const Job& job, const facts::Facts& host, int ranks) {
  const facts::GpuVariables variables = gpu_variables_of_ranks(job, host);
  for (int rank = 0; rank < ranks; ++rank) {
    const facts::Gpu* const gpu = facts::gpu_of_rank(host.gpus, variables, rank);
    if (gpu == nullptr || gpu->cpus.empty()) return false;
  }
  return true;
}

}  // namespace muster::layout
