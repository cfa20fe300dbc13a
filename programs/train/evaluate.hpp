// Counts how many held-out images a model classifies correctly. All ranks share the work, and each
// image counts once.
#pragma once

#include <torch/torch.h>

#include "programs/classifier.hpp"
#include "programs/train/agreement.hpp"
#include "programs/train/augment.hpp"

namespace muster::programs {

struct Evaluation {
  int64_t correct = 0;
  int64_t count = 0;
  double loss = 0;  // mean

  [[nodiscard]] double accuracy() const {
    return count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count);
  }
};

struct EvaluationOptions {
  int64_t batch = 250;
  int workers = 2;
  bool bf16 = false;
  torch::Device device = torch::kCPU;
  // If set, receives the logits of this rank's images, in order.
  std::vector<torch::Tensor>* logits = nullptr;
};

// Collective. First broadcasts rank 0's buffers. Leaves the model in evaluation mode.
[[nodiscard]] Evaluation evaluate(const Group& group, Classifier& model, const Painter& painter,
                                  const EvaluationOptions& options);

}  // namespace muster::programs
