// muster's side of comparisons/ddp; ddp_steps.py is the peer's. Rank 0 prints one JSON object.
// usage: ddp_steps BACKEND
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <torch/torch.h>
#include <unistd.h>

#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"
#include "programs/resnet.hpp"

namespace {

namespace nn = torch::nn;
using torch::Tensor;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

struct Mlp : nn::Module {
  Tensor forward(const Tensor& input) {
    return out(torch::relu(hidden2(torch::relu(hidden1(input)))));
  }
  nn::Linear hidden1 = register_module("hidden1", nn::Linear(32, 64));
  nn::Linear hidden2 = register_module("hidden2", nn::Linear(64, 64));
  nn::Linear out = register_module("out", nn::Linear(64, 10));
};

struct Cnn : nn::Module {
  Tensor forward(const Tensor& input) {
    Tensor x = torch::relu(conv2(torch::relu(conv1(input))));
    x = torch::max_pool2d(x, 2).flatten(1);
    return out(torch::relu(hidden(x)));
  }
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(1, 32, 3));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(32, 64, 3));
  nn::Linear hidden = register_module("hidden", nn::Linear(9216, 128));
  nn::Linear out = register_module("out", nn::Linear(128, 10));
};

struct Shape {
  std::vector<int64_t> input;
  int warm_up;
  int steps;
};

struct Measured {
  double steps_per_second = 0;
  double loss = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The result is exact to 0.01 s, because the kernel records the start in hundredths of a second.
double seconds_since_process_start() {
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  double up = 0;
  std::ifstream("/proc/uptime") >> up;
  return up - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double first_step = 0;

template <class Model>
Measured train(const Group& group, const std::shared_ptr<Model>& made, const Shape& shape) {
  muster::DistributedDataParallel<Model> model(made, group);
  torch::optim::SGD optimizer(model.parameters(), 0.01);
  torch::manual_seed(100 + group->getRank());
  const Tensor input = torch::randn(shape.input);
  const Tensor target = torch::randint(10, {shape.input[0]});
  auto start = std::chrono::steady_clock::now();
  Tensor loss;
  for (int step = 0; step < shape.warm_up + shape.steps; ++step) {
    if (step == shape.warm_up) start = std::chrono::steady_clock::now();
    model.zero_grad();
    loss = nn::functional::cross_entropy(model(input), target);
    loss.backward();
    optimizer.step();
    if (first_step == 0) first_step = seconds_since_process_start();
  }
  return {shape.steps / seconds_since(start), loss.item<double>()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: ddp_steps gloo|mpi\n";
    return 2;
  }
  torch::set_num_threads(1);
  const Group group = muster::join().group(argv[1]);
  torch::manual_seed(1);
  const auto mlp = train(group, std::make_shared<Mlp>(), {{16, 32}, 100, 2000});
  const auto cnn = train(group, std::make_shared<Cnn>(), {{16, 1, 28, 28}, 5, 60});
  const double resident = resident_mb();
  const auto resnet18 =
      train(group, std::make_shared<muster::programs::ResNet18>(10), {{8, 3, 32, 32}, 3, 25});
  if (group->getRank() != 0) return 0;
  std::printf(
      "{\"mlp\": %f, \"cnn\": %f, \"resnet18\": %f, \"first_step\": %f, \"rss\": %f, "
      "\"losses\": [%.9g, %.9g, %.9g]}\n",
      mlp.steps_per_second, cnn.steps_per_second, resnet18.steps_per_second, first_step, resident,
      mlp.loss, cnn.loss, resnet18.loss);
}
