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
  std::vector<std::string> backends;  // empty: what the engine can
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{256} << 20;
  int factor = 2;
  int iterations = 0;  // 0: by time
  int warmup = -1;     // -1: by time
  double seconds = 0;  // of a size and backend, or of a pair each way; 0: muster-bench's own
  std::string device = "auto";
  std::string model = "resnet50";
  int steps = 0;
  int batch = 0;
  int image_size = 0;
  int most_rounds = 0;  // 0: all, or a sample of many hosts
  std::string expect;   // a rate
  std::string program;
  bool table = false;
  bool json = false;
  bool save = false;
  bool save_slow = false;  // save, with the links that are slow
  std::string report;      // a file
};

void add_bench_options(CLI::App& command, BenchOptions& options);

}  // namespace muster::cli
