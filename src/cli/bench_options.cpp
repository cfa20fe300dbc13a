#include "cli/bench_options.hpp"

#include "cli/size_option.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

using trainflags::takes_duration;

constexpr const char* kSizes = "Sizes and times";
constexpr const char* kTraining = "Training (ddp)";
constexpr const char* kOutput = "Output";
constexpr int kMost = 1'000'000;  // the largest number that muster-bench accepts

void add_sizes(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--backend,--backends", options.backends,
                  "Comma-separated list of bare (MPI itself), mpi, gloo and nccl; default: all "
                  "that the engine supports")
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "mpi", "gloo", "nccl"}).description(""))
      ->type_name("LIST")
      ->group(kSizes);
  takes_size(command.add_option("--min", options.min_bytes, "Smallest message: bytes, or 64K, 1M"))
      ->capture_default_str()
      ->group(kSizes);
  takes_size(command.add_option("--max", options.max_bytes, "Largest message; default: 256M"))
      ->group(kSizes);
  command.add_option("--factor", options.factor, "Each message size is N times the previous one")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str()
      ->group(kSizes);
  command
      .add_option("--iterations", options.iterations,
                  "Repetitions per message size; default: as many as fit into --seconds")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
  command
      .add_option("--warmup", options.warmup,
                  "Repetitions before the ones that count; default: chosen by time")
      ->check(CLI::Range(0, kMost))
      ->group(kSizes);
  takes_duration(command.add_option("--seconds", options.seconds,
                                    "Time to spend on each size with each backend (default 0.5); "
                                    "with pairs, on each pair in each direction (default 0.3)"),
                 0.01, 3600)
      ->group(kSizes);
  command
      .add_option("--rounds", options.most_rounds,
                  "For pairs: measure at most N rounds, each with every host in one pair; default: "
                  "all rounds for up to 64 hosts, else 16")
      ->check(CLI::Range(1, kMost))
      ->group(kSizes);
}

void add_training(CLI::App& command, BenchOptions& options) {
  command.add_option("--model", options.model, "Model to train")
      ->check(CLI::IsMember({"resnet50", "mlp"}))
      ->capture_default_str()
      ->group(kTraining);
  command
      .add_option(
          "--steps", options.steps,
          "For ddp: N steps with the exchange of gradients and N without; default: chosen by time")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command
      .add_option("--batch", options.batch,
                  "For ddp: batch size per rank; default: 4 for resnet50, 64 for mlp")
      ->check(CLI::Range(1, kMost))
      ->group(kTraining);
  command
      .add_option("--image-size", options.image_size,
                  "For ddp: image width and height for resnet50; default: 64")
      ->check(CLI::Range(32, 4096))
      ->group(kTraining);
  command
      .add_option("--device", options.device,
                  "For ddp: where to train; auto means on a GPU if the hosts have one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str()
      ->group(kTraining);
}

void add_output(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--expect", options.expect,
                  "Speed that each link should have, such as 10gbit; default: the speed that the "
                  "network interfaces report")
      ->type_name("RATE")
      ->group(kOutput);
  command
      .add_flag("--table", options.table,
                "For all-reduce: measure with 2, 4, 8, ... ranks, with and without RDMA, and print "
                "one row for each")
      ->group(kOutput);
  command
      .add_flag("--json", options.json,
                "Print the results as one line of JSON, which compare and show can read")
      ->group(kOutput);
  command
      .add_flag("--save", options.save,
                "For pairs: save the measured rates as a baseline; later measurements report "
                "which links have become slower")
      ->group(kOutput);
  command
      .add_flag("--save-slow", options.save_slow,
                "For pairs: like --save, but also save links that are slow now")
      ->group(kOutput);
  command
      .add_option("--report", options.report,
                  "Write an HTML page with curves, a heat map and the hosts")
      ->type_name("PATH")
      ->group(kOutput);
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("WHAT", options.what, "What to measure, such as all-reduce; or compare or show")
      ->required()
      ->check(
          CLI::IsMember({"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all",
                         "send-recv", "barrier", "all", "pairs", "ddp", "compare", "show"}));
  command.add_option(
      "RESULTS", options.files,
      "For compare and show: files with the output of --json, or run ids (muster runs lists them)");
  add_sizes(command, options);
  add_training(command, options);
  add_output(command, options);
  command
      .add_option(
          "--bench-program", options.program,
          "Path of muster-bench on the hosts; default: the directory of this binary, else PATH")
      ->type_name("PATH")
      ->group(kEngineGroup);
  add_job_options(command, options.job);
  takes_duration(command.add_option("--timeout", options.patience.timeout_s,
                                    "Stop after this time and show what was measured until then"),
                 0.1)
      ->group(kBreaksGroup);
  command.add_flag("--force", options.force, "Start even if the checks found errors");
}

}  // namespace muster::cli
