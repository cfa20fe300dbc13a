// The flags of `muster bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/job_options.hpp"
#include "run/supervisor.hpp"

namespace muster::cli {

struct BenchOptions {
  std::string what;                // an operation, "all", "pairs", "ddp", "compare", "show"
  std::vector<std::string> files;  // results, for compare and show
  JobOptions job;
  run::Patience patience;
  bool force = false;
  std::vector<std::string> backends;  // empty: all that the engine supports
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{256} << 20;
  int factor = 2;
  int iterations = 0;  // 0: as many as fit into the time
  int warmup = -1;     // -1: as many as fit into the time
  // How long to measure each size with each backend, or each direction of a pair. 0: the default of
  // muster-bench.
  double seconds = 0;
  std::string device = "auto";
  std::string model = "resnet50";
  int steps = 0;
  int batch = 0;
  int image_size = 0;
  int most_rounds = 0;  // 0: all rounds, or a sample if there are many hosts
  std::string expect;   // a rate such as 10gbit
  std::string program;
  bool table = false;
  bool json = false;
  bool save = false;
  bool save_slow = false;  // save, including links that are slow
  std::string report;      // path of a file
};

void add_bench_options(CLI::App& command, BenchOptions& options);

}  // namespace muster::cli
