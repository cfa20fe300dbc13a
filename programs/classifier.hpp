// A model that tells which of some classes an image is of: what the trainers train.
#pragma once

#include <torch/torch.h>

namespace muster::programs {

struct Classifier : torch::nn::Module {
  // Images [N, C, H, W] to logits [N, classes].
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

}  // namespace muster::programs
