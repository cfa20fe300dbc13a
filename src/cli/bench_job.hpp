// Starts muster-bench on the hosts once, and collects its measurements in Results.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/lines.hpp"
#include "bench/results.hpp"
#include "cli/bench_options.hpp"
#include "cli/survey.hpp"
#include "layout/layout.hpp"
#include "sys/live_line.hpp"

namespace muster::cli {

struct BenchStart {
  std::string what;  // for the progress line: "all-reduce, 4 ranks"
  JobOptions job;
  run::Patience patience;
  // Returns the arguments of muster-bench, once the participants and the engine are known.
  std::function<Result<std::vector<std::string>>(const Surveyed&)> words;
};

struct BenchEnd {
  int code = 0;  // exit code of the run; 0 only if all was measured
  bool interrupted = false;
  std::string folder = {};              // folder of the run
  std::vector<std::string> hosts = {};  // the host of each rank
};

struct PodLook {
  int ranks = 0;  // number of ranks in this pod
  bool has_rdma = false;
};

// Examines this pod. Each pod plans all starts by itself, so it needs the result before the first
// one.
[[nodiscard]] Result<PodLook> look_at_pod(const BenchOptions& options);

// Adds everything that was measured to `results`. If the bench ends early, results.cut_short says
// why. Fails if the bench did not begin.
[[nodiscard]] Result<BenchEnd> start_bench(const BenchOptions& options, const BenchStart& start,
                                           bench::Results& results, sys::LiveLine& line);

}  // namespace muster::cli
