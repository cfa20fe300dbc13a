#include "cli/bench_options.hpp"

#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

using trainflags::takes_duration;

constexpr const char* kSizes = "Sizes and times";
constexpr const char* kTraining = "Training (ddp)";
constexpr const char* kOutput = "Output";
constexpr int kMost = 1'000'000;  // muster-bench takes no more

void add_sizes(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--backend,--backends", options.backends,
                  "Comma-separated list of bare (MPI itself), mpi, gloo and nccl; default: all "
                  "that the engine supports")
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "mpi", "gloo", "nccl"}).description(""))
      ->type_name("LIST")
      ->group(kSizes);
  command.add_option("--min", options.min_bytes, "Smallest message: bytes, or 64K, 1M")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->capture_default_str()
      ->group(kSizes);
  command.add_option("--max", options.max_bytes, "Largest message; default: 256M")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->group(kSizes);
  command.add_option("--factor", options.factor, "Ratio of one size to the next")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str()
      ->group(kSizes);
  command
      .add_option("--iterations", options.iterations,
                  "Repetitions per size; default: as many as fit in --seconds")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
  command
      .add_option("--warmup", options.warmup,
                  "Repetitions that do not count; default: chosen by time")
      ->check(CLI::Range(0, kMost))
      ->group(kSizes);
  takes_duration(
      command.add_option("--seconds", options.seconds,
                         "Time per size and backend (default 0.5), or per pair and direction "
                         "(default 0.3)"),
      0.01, 3600)
      ->group(kSizes);
  command
      .add_option("--rounds", options.most_rounds,
                  "pairs: most rounds; default: all for up to 64 hosts, else 16")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
}

void add_training(CLI::App& command, BenchOptions& options) {
  command.add_option("--model", options.model, "Model to train")
      ->check(CLI::IsMember({"resnet50", "mlp"}))
      ->capture_default_str()
      ->group(kTraining);
  command
      .add_option("--steps", options.steps,
                  "Steps with and without exchange of gradients; default: by time")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command.add_option("--batch", options.batch, "Batch size per rank; default: the model's")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command.add_option("--image-size", options.image_size, "Image size for resnet50; default: 64")
      ->check(CLI::Range(32, 4096))
      ->group(kTraining);
  command
      .add_option("--device", options.device, "Where to train; auto: a GPU if the hosts have one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str()
      ->group(kTraining);
}

void add_output(CLI::App& command, BenchOptions& options) {
  command
      .add_option(
          "--expect", options.expect,
          "Speed that a link should have, such as 10gbit; default: what the interfaces report")
      ->type_name("RATE")
      ->group(kOutput);
  command
      .add_flag("--table", options.table,
                "all-reduce: one row for 2, 4, 8, ... ranks, with and without RDMA")
      ->group(kOutput);
  command.add_flag("--json", options.json, "Print the results as one line of JSON, for compare")
      ->group(kOutput);
  command.add_option("--report", options.report, "Write a page with curves, heat map and hosts")
      ->type_name("PATH")
      ->group(kOutput);
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command.add_option("WHAT", options.what, "What to measure, or compare or show; see below")
      ->required()
      ->check(
          CLI::IsMember({"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all",
                         "send-recv", "barrier", "all", "pairs", "ddp", "compare", "show"}));
  command.add_option("RESULTS", options.files,
                     "compare, show: files that --json wrote, or run ids (muster runs)");
  add_sizes(command, options);
  add_training(command, options);
  add_output(command, options);
  command
      .add_option("--bench-program", options.program,
                  "muster-bench on the hosts; default: beside this binary, else in their PATH")
      ->type_name("PATH")
      ->group(kEngineGroup);
  add_job_options(command, options.job);
  takes_duration(command.add_option("--timeout", options.patience.timeout_s,
                                    "Stop after this time and show what was measured"),
                 0.1)
      ->group(kBreaksGroup);
  command.add_flag("--force", options.force, "Start even if the checks found errors");
}

}  // namespace muster::cli
