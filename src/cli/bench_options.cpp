#include "cli/bench_options.hpp"

namespace muster::cli {
namespace {

constexpr const char* kSizes = "Sizes and times";
constexpr const char* kTraining = "ddp";
constexpr const char* kOutput = "What is printed";
constexpr int kMost = 1'000'000;  // muster-bench takes no more

void add_sizes(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--backend,--backends", options.backends,
                  "What carries the data: bare (MPI itself), mpi, gloo, nccl; several with commas; "
                  "default: all that the engine can")
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "mpi", "gloo", "nccl"}))
      ->group(kSizes);
  command.add_option("--min", options.min_bytes, "Smallest size in bytes, or 64K, 1M")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->capture_default_str()
      ->group(kSizes);
  command.add_option("--max", options.max_bytes, "Largest size; default: 256M")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->group(kSizes);
  command.add_option("--factor", options.factor, "From one size to the next")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str()
      ->group(kSizes);
  command.add_option("--iterations", options.iterations, "Of each size; default: by time")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
  command.add_option("--warmup", options.warmup, "Iterations before; default: by time")
      ->check(CLI::Range(0, kMost))
      ->group(kSizes);
  command
      .add_option("--seconds", options.seconds,
                  "For each size and backend, or for each pair and way; default: 0.5 and 0.3")
      ->check(CLI::Range(0.01, 3600.0))
      ->group(kSizes);
  command
      .add_option("--rounds", options.most_rounds,
                  "pairs: rounds at most; default: all up to 64 hosts, else 16")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
}

void add_training(CLI::App& command, BenchOptions& options) {
  command.add_option("--model", options.model, "resnet50 or mlp")
      ->check(CLI::IsMember({"resnet50", "mlp"}))
      ->capture_default_str()
      ->group(kTraining);
  command.add_option("--steps", options.steps, "With and without exchange; default: by time")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command.add_option("--batch", options.batch, "Of each rank; default: the model's")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command.add_option("--image-size", options.image_size, "Of resnet50; default: 64")
      ->check(CLI::Range(32, 4096))
      ->group(kTraining);
  command.add_option("--device", options.device, "cpu, cuda, or auto: what the hosts have")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str()
      ->group(kTraining);
}

void add_output(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--expect", options.expect,
                  "What a link should carry, '10gbit'; default: what the hosts' interfaces say")
      ->group(kOutput);
  command
      .add_flag("--table", options.table,
                "all-reduce: one row a number of ranks, 2, 4, 8, ..., with and without RDMA")
      ->group(kOutput);
  command.add_flag("--json", options.json, "The results as one line of JSON; compare reads it")
      ->group(kOutput);
  command
      .add_option("--report", options.report,
                  "A page for people, in one file: curves, heat map, hosts")
      ->type_name("FILE.html")
      ->group(kOutput);
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("what", options.what,
                  "all-reduce, all-gather, reduce-scatter, broadcast, all-to-all, send-recv, "
                  "barrier or all; pairs: every host with every other; ddp: a training; compare A "
                  "B: two results; show A: one")
      ->required()
      ->check(
          CLI::IsMember({"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all",
                         "send-recv", "barrier", "all", "pairs", "ddp", "compare", "show"}));
  command.add_option("results", options.files,
                     "compare and show: files of --json, or ids of runs (muster runs)");
  add_sizes(command, options);
  add_training(command, options);
  add_output(command, options);
  command
      .add_option("--bench-program", options.program,
                  "The program that measures, on the hosts; default: muster-bench beside this "
                  "binary, else in their PATH")
      ->group("Job");
  add_job_options(command, options.job);
  command
      .add_option("--timeout", options.patience.timeout_s,
                  "Seconds after which it is ended; what was measured is shown")
      ->check(CLI::Range(0.1, 1e9));
  command.add_flag("--force", options.force, "Start in spite of errors that were found");
}

}  // namespace muster::cli
