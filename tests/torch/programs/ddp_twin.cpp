// Trains three models and writes the results; ddp_twin.py does the same in Python.
// usage: ddp_twin BACKEND FOLDER
// Writes FOLDER/MODEL.RANK: the losses, then all parameters and buffers, as raw bytes.
#include <fstream>
#include <iostream>

#include <torch/torch.h>

#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

constexpr int kSteps = 50;
constexpr int kBatch = 8;

struct Cnn : nn::Module {
  Tensor forward(const Tensor& input, int) {
    Tensor x = torch::max_pool2d(torch::relu(norm1(conv1(input))), 2);
    x = torch::max_pool2d(torch::relu(norm2(conv2(x))), 2);
    return out(x.flatten(1));
  }
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)));
  nn::BatchNorm2d norm1 = register_module("norm1", nn::BatchNorm2d(8));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)));
  nn::BatchNorm2d norm2 = register_module("norm2", nn::BatchNorm2d(16));
  nn::Linear out = register_module("out", nn::Linear(16 * 4 * 4, 10));
};

// Has three buckets of at most 1 MiB.
struct Mlp : nn::Module {
  Tensor forward(const Tensor& input, int) {
    return out(torch::relu(hidden2(torch::relu(hidden1(input.flatten(1))))));
  }
  nn::Linear hidden1 = register_module("hidden1", nn::Linear(256, 512));
  nn::Linear hidden2 = register_module("hidden2", nn::Linear(512, 512));
  nn::Linear out = register_module("out", nn::Linear(512, 10));
};

// Uses one of the branches per step, and one layer never.
struct Branches : nn::Module {
  Tensor forward(const Tensor& input, int step) {
    const Tensor x = torch::relu(first(input.flatten(1)));
    return out(torch::tanh(step % 3 == 0 ? left(x) : right(x)));
  }
  nn::Linear first = register_module("first", nn::Linear(256, 32));
  nn::Linear left = register_module("left", nn::Linear(32, 32));
  nn::Linear right = register_module("right", nn::Linear(32, 32));
  nn::Linear never = register_module("never", nn::Linear(32, 32));
  nn::Linear out = register_module("out", nn::Linear(32, 10));
};

void write(std::ofstream& file, const Tensor& tensor) {
  const Tensor bytes = tensor.detach().contiguous();
  file.write(static_cast<const char*>(bytes.data_ptr()), static_cast<long>(bytes.nbytes()));
}

template <class Model>
void train(const std::string& name, const c10::intrusive_ptr<c10d::ProcessGroup>& group,
           const std::string& folder, const muster::DistributedDataParallelOptions& options) {
  torch::manual_seed(1 + group->getRank());  // rank 0's values must be used
  muster::DistributedDataParallel<Model> model(std::make_shared<Model>(), group, options);
  torch::optim::SGD optimizer(model.parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-4));
  torch::manual_seed(100 + group->getRank());
  std::ofstream file(folder + "/" + name + "." + std::to_string(group->getRank()));
  for (int step = 0; step < kSteps; ++step) {
    const Tensor input = torch::randn({kBatch, 1, 16, 16});
    const Tensor target = torch::randint(10, {kBatch});
    model.zero_grad();
    const Tensor loss = torch::nn::functional::cross_entropy(model(input, step), target);
    loss.backward();
    optimizer.step();
    write(file, loss);
  }
  for (const Tensor& parameter : model.parameters()) write(file, parameter);
  for (const Tensor& buffer : model->buffers()) write(file, buffer);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: ddp_twin gloo|mpi FOLDER\n";
    return 2;
  }
  torch::set_num_threads(1);
  const auto group = muster::join().group(argv[1]);
  const std::string folder = argv[2];
  train<Cnn>("cnn", group, folder, {});
  train<Mlp>("mlp", group, folder, {.bucket_bytes = 1 << 20});
  train<Branches>("branches", group, folder, {.find_unused_parameters = true});
}
