// One start of muster-bench on the hosts, and what it says taken into Results.
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
  std::string what;  // in words, for the line: "all-reduce, 4 ranks"
  JobOptions job;
  run::Patience patience;
  // The words after the program, when it is known who takes part and under which engine.
  std::function<Result<std::vector<std::string>>(const Surveyed&)> words;
};

struct BenchEnd {
  int code = 0;  // of the run; 0 when all was measured
  bool interrupted = false;
  std::string folder = {};              // the run's
  std::vector<std::string> hosts = {};  // that took part, by rank
};

struct PodLook {
  int ranks = 0;  // of this pod
  bool has_rdma = false;
};

// What must be known before the first start in a pod: other pods start without asking this one.
[[nodiscard]] Result<PodLook> look_at_pod(const BenchOptions& options);

// Everything that it measured is in `results` then, also when it ended early: cut_short says so.
// An Error when it did not begin.
[[nodiscard]] Result<BenchEnd> start_bench(const BenchOptions& options, const BenchStart& start,
                                           bench::Results& results, sys::LiveLine& line);

}  // namespace muster::cli
