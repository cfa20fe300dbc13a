// A short training of a model under DistributedDataParallel, implemented in PyTorch's module.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

struct TrainingRequest {
  std::string model;  // "resnet50", "mlp"
  std::string backend;
  std::string device;
  int steps = 0;       // of each kind; 0: as many as fit into about 10 s
  int batch = 0;       // samples per rank; 0: the model's default
  int image_size = 0;  // 0: the model's default
  int hosts = 0;       // number of hosts for the results; 0: ask the launcher
  World world;
};

struct Training {
  int steps = 0;  // measured steps with the exchange of gradients
  std::int64_t samples = 0;
  double step_s = 0;
  double compute_s = 0;
  double backward_s = 0;
  std::int64_t parameters = 0;
  std::int64_t gradient_bytes = 0;
};

// Called with the current activity, the number of parts that are done, the number of all parts, and
// the remaining seconds (-1 if unknown).
using TellProgress = std::function<void(const std::string& what, int done, int of, double left_s)>;

using Train = Training (*)(const TrainingRequest& request, const TellProgress& tell);
constexpr const char* kTrain = "muster_bench_train";

}  // namespace muster::programs::bench
