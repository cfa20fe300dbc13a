// Measures training steps with and without the exchange of gradients. The two kinds alternate, so
// that other load on the hosts affects both.
#include <algorithm>
#include <chrono>
#include <vector>

#include <torch/torch.h>

#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"
#include "programs/bench/torch_fabric.hpp"
#include "programs/bench/training.hpp"
#include "programs/resnet.hpp"

namespace muster::programs::bench {
namespace {

using StepClock = std::chrono::steady_clock;
using torch::Tensor;

constexpr double kWholeSeconds = 10;  // approximate time if the number of steps is not given
constexpr int kFewestSteps = 3;       // of each kind
constexpr int kMostSteps = 500;
constexpr int kTurns = 4;  // alternating blocks
constexpr int64_t kMlpWidth = 1024;
constexpr int64_t kMlpClasses = 10;
constexpr int64_t kClasses = 1000;
constexpr int kMlpBatch = 64;
constexpr int kImageBatch = 4;
constexpr int kImageSize = 64;

// About 4.2 million parameters.
struct Mlp : Classifier {
  Tensor forward(const Tensor& input) override {
    Tensor x = torch::relu(hidden1(input));
    x = torch::relu(hidden2(x));
    x = torch::relu(hidden3(x));
    return out(torch::relu(hidden4(x)));
  }
  torch::nn::Linear hidden1 = register_module("hidden1", torch::nn::Linear(kMlpWidth, kMlpWidth));
  torch::nn::Linear hidden2 = register_module("hidden2", torch::nn::Linear(kMlpWidth, kMlpWidth));
  torch::nn::Linear hidden3 = register_module("hidden3", torch::nn::Linear(kMlpWidth, kMlpWidth));
  torch::nn::Linear hidden4 = register_module("hidden4", torch::nn::Linear(kMlpWidth, kMlpWidth));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(kMlpWidth, kMlpClasses));
};

struct StepTimes {
  double whole = 0;
  double backward = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

class Trainer {
 public:
  Trainer(const TrainingRequest& request, const c10::intrusive_ptr<c10d::ProcessGroup>& group)
      : device_(device_of(request.device, *group, request.world.local_rank)),
        fabric_(group, device_),
        batch_(request.batch > 0 ? request.batch
                                 : (request.model == "mlp" ? kMlpBatch : kImageBatch)),
        model_(make_model(request.model, device_), group),
        optimizer_(model_.parameters(), torch::optim::SGDOptions(1e-3)) {
    torch::manual_seed(100 + static_cast<uint64_t>(group->getRank()));
    const int64_t side = request.image_size > 0 ? request.image_size : kImageSize;
    const bool flat = request.model == "mlp";
    input_ = flat ? torch::randn({batch_, kMlpWidth}) : torch::randn({batch_, 3, side, side});
    target_ = torch::randint(flat ? kMlpClasses : kClasses, {batch_});
    input_ = input_.to(device_);
    target_ = target_.to(device_);
  }

  [[nodiscard]] TorchFabric& fabric() { return fabric_; }
  [[nodiscard]] int64_t batch() const { return batch_; }
  [[nodiscard]] std::vector<Tensor> parameters() const { return model_.parameters(); }

  // Times of the slowest rank, one value per step.
  struct Block {
    std::vector<double> whole;
    std::vector<double> backward;
  };

  Block block(int steps, bool exchange) {
    fabric_.run(Operation::kBarrier);
    if (exchange) return slowest(run_steps(steps));
    std::vector<double> times;
    {
      const auto alone = model_.no_sync();
      // Not measured: the first step after an exchange still broadcasts rank 0's buffers.
      static_cast<void>(step());
      times = run_steps(steps);
    }
    return slowest(std::move(times));
  }

 private:
  static std::shared_ptr<Classifier> make_model(const std::string& name, at::Device device) {
    torch::manual_seed(1);
    std::shared_ptr<Classifier> made;
    if (name == "mlp")
      made = std::make_shared<Mlp>();
    else
      made = std::make_shared<ResNet50>(kClasses);
    made->to(device);
    return made;
  }

  // Returns two values per step: the whole time, and the time of the backward pass.
  std::vector<double> run_steps(int steps) {
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      const StepTimes took = step();
      times.push_back(took.whole);
      times.push_back(took.backward);
    }
    return times;
  }

  Block slowest(std::vector<double> times) {
    fabric_.largest(times);
    Block found;
    for (std::size_t i = 0; i < times.size(); i += 2) {
      found.whole.push_back(times[i]);
      found.backward.push_back(times[i + 1]);
    }
    return found;
  }

  StepTimes step() {
    const auto began = StepClock::now();
    const auto since = [](StepClock::time_point from) {
      return std::chrono::duration<double>(StepClock::now() - from).count();
    };
    model_.zero_grad();
    const Tensor loss = torch::nn::functional::cross_entropy(model_(input_), target_);
    settle_device(device_);
    const auto turned = StepClock::now();
    loss.backward();
    settle_device(device_);
    const double backward = since(turned);
    optimizer_.step();
    settle_device(device_);
    return {.whole = since(began), .backward = backward};
  }

  at::Device device_;
  TorchFabric fabric_;
  int64_t batch_;
  DistributedDataParallel<Classifier> model_;
  torch::optim::SGD optimizer_;
  Tensor input_;
  Tensor target_;
};

// Collective. Returns the number of steps with the exchange, which is also that of the steps
// without it. Rank 0 decides.
int steps_for(const TrainingRequest& request, Trainer& trainer, double both_s) {
  std::int64_t steps = request.steps;
  if (steps == 0)
    steps = static_cast<std::int64_t>(std::clamp(kWholeSeconds / both_s,
                                                 static_cast<double>(kFewestSteps),
                                                 static_cast<double>(kMostSteps)));
  trainer.fabric().from_first({&steps, 1});
  return static_cast<int>(steps);
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Training measure_training_steps(const TrainingRequest& request, Trainer& trainer,
                                const TellProgress& tell) {
  const std::string name = request.model + ", " + request.backend;
  tell(name + ": warm-up", 0, 1 + 2 * kTurns, -1);
  // Run two steps with the exchange, because the buckets are rebuilt after the first.
  static_cast<void>(trainer.block(2, true));
  const double both_s = trainer.block(1, false).whole.back() + trainer.block(1, true).whole.back();
  const int steps = steps_for(request, trainer, both_s);
  const int turns = std::min(kTurns, steps);
  Trainer::Block with;
  Trainer::Block without;
  const int parts = 1 + 2 * turns;
  const auto began = StepClock::now();
  const auto announce = [&](const std::string& what, int done) {
    const double gone = std::chrono::duration<double>(StepClock::now() - began).count();
    // Before the first block has run, estimate its time from that of single steps.
    const double left =
        done == 0 ? both_s * (steps + turns / 2.0) : gone / done * (2 * turns - done);
    tell(name + ": " + what, 1 + done, parts, left);
  };
  for (int turn = 0; turn < turns; ++turn) {
    const int share = steps * (turn + 1) / turns - steps * turn / turns;
    announce("steps with the exchange of gradients", 2 * turn);
    append(with.whole, trainer.block(share, true).whole);
    announce("steps without it", 2 * turn + 1);
    const Trainer::Block alone = trainer.block(share, false);
    append(without.whole, alone.whole);
    append(without.backward, alone.backward);
  }
  Training training{.steps = steps,
                    .samples = trainer.batch() * request.world.size,
                    .step_s = median(with.whole),
                    .compute_s = median(without.whole),
                    .backward_s = median(without.backward)};
  for (const Tensor& parameter : trainer.parameters()) {
    training.parameters += parameter.numel();
    training.gradient_bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  return training;
}

}  // namespace

extern "C" MUSTER_API Training muster_bench_train(const TrainingRequest& request,
                                                  const TellProgress& tell) {
  const auto group = muster::join().group(request.backend);
  Trainer trainer(request, group);
  return measure_training_steps(request, trainer, tell);
}

}  // namespace muster::programs::bench
