// muster-train: one rank of a training job. `muster train` starts it on all hosts; mpirun, srun and
// torchrun can start it too. Started alone, it is a job with one rank.
#include <cstdio>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "muster/job.hpp"
#include "programs/flag_words.hpp"
#include "programs/train/agreement.hpp"
#include "programs/train/models.hpp"
#include "trainflags/help.hpp"
#include "trainflags/models.hpp"
#include "trainflags/train_options.hpp"

namespace {

using muster::trainflags::TrainOptions;

constexpr int kUsage = 2;

int run(const muster::Job& job, const TrainOptions& options) {
  if (options.threads > 0) torch::set_num_threads(options.threads);
  const auto timeout =
      std::chrono::milliseconds(static_cast<int64_t>(options.collective_timeout_s * 1000));
  muster::GroupChoice choice = job.group_choice(options.backend);
  if (options.device == "cpu" && options.backend == "auto" && choice.backend == "nccl") {
    choice = {.backend = job.mpi_launcher ? "mpi" : "gloo", .why = "--device cpu"};
  }
  const auto group = job.group(choice.backend, {.timeout = timeout});
  if (job.rank == 0) {
    std::printf("muster-train: backend %s: %s\n", choice.backend.c_str(), choice.why.c_str());
  }
  try {
    muster::programs::train(job, group, muster::programs::recipe_of(options), options);
    return 0;
  } catch (const muster::programs::AgreedError& error) {
    muster::programs::say_agreed(group, "muster-train: " + std::string(error.what()) + "\n");
    return 1;
  }
}

}  // namespace

int main(int count, char** words) {
  CLI::App app("Train a model on all ranks of the job that this process belongs to");
  app.name("muster-train");
  app.formatter(muster::trainflags::help_formatter());
  app.set_help_flag("-h,--help", "Show this help");
  app.footer(muster::trainflags::defaults_text());
  TrainOptions options;
  muster::trainflags::add_train_options(app, options);
  muster::trainflags::add_threads_option(app, options);
  try {
    app.parse(muster::programs::flag_words(count, words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  int rank = 0;
  try {
    const muster::Job job = muster::join();
    rank = job.rank;
    return run(job, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "muster-train: rank %d: %s\n", rank, error.what());
  }
  return 1;
}
