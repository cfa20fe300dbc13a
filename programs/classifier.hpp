// The base class of the image classifiers that muster-train and muster-bench train.
#pragma once

#include <torch/torch.h>

namespace muster::programs {

struct Classifier : torch::nn::Module {
  // Maps images [N, C, H, W] to logits [N, classes].
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

}  // namespace muster::programs
