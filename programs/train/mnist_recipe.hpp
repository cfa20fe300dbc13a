// A small convolutional network for MNIST.
#pragma once

#include "programs/train/idx.hpp"
#include "programs/train/loop.hpp"

namespace muster::programs {

struct MnistNet : Classifier {
  explicit MnistNet(int64_t classes)
      : fc2(register_module("fc2", torch::nn::Linear(128, classes))) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = torch::relu(conv2(torch::relu(conv1(images))));
    x = torch::dropout(torch::max_pool2d(x, 2), 0.25, is_training()).flatten(1);
    x = torch::dropout(torch::relu(fc1(x)), 0.5, is_training());
    return fc2(x);
  }

  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(1, 32, 3));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(32, 64, 3));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(9216, 128));
  torch::nn::Linear fc2;
};

inline Recipe mnist_recipe(const TrainOptions& /*options*/) {
  return {.read = read_mnist,
          .make = [](const TrainOptions&, int64_t classes, int64_t) -> std::shared_ptr<Classifier> {
            return std::make_shared<MnistNet>(classes);
          },
          .normalisation = {{0.1307F}, {0.3081F, 1, 1}},
          .head = "fc2",
          .shift = 2};
}

}  // namespace muster::programs
