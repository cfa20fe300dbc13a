// Shared by the cases of ddp_features and of other files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "muster/distributed_data_parallel.hpp"

namespace muster::test {

namespace nn = torch::nn;
using torch::Tensor;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

inline void expect_close(const Tensor& a, const Tensor& b, const std::string& what,
                         double rtol = 1e-4) {
  if (torch::allclose(a, b, rtol, 1e-6)) return;
  throw std::runtime_error(what + ": off by " + std::to_string((a - b).abs().max().item<double>()));
}

template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

struct Net : nn::Module {
  explicit Net(int64_t width = 6) { hidden = register_module("hidden", nn::Linear(4, width)); }
  Tensor forward(const Tensor& input) { return out(torch::tanh(hidden(input))); }
  nn::Linear hidden{nullptr};
  nn::Linear out = register_module("out", nn::Linear(6, 3));
};

inline std::shared_ptr<Net> seeded_net() {
  torch::manual_seed(7);
  return std::make_shared<Net>();
}

inline Tensor batch_of(int rank, int step) {
  torch::manual_seed(1000 + 10 * rank + step);
  return torch::randn({5, 4});
}

inline Tensor loss_of(const Tensor& output) {
  return output.square().mean();
}

inline std::vector<Tensor> gradients(const nn::Module& module) {
  std::vector<Tensor> found;
  for (const Tensor& parameter : module.parameters()) {
    const Tensor& gradient = parameter.grad();
    found.push_back(gradient.defined() ? gradient.clone() : torch::zeros_like(parameter));
  }
  return found;
}

inline Tensor flat(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> pieces;
  for (const Tensor& tensor : tensors) pieces.push_back(tensor.detach().reshape(-1));
  return torch::cat(pieces);
}

inline Tensor weights(const nn::Module& module) {
  return flat(module.parameters());
}

// Computes the gradient of the average loss over `ranks` in one process.
inline Tensor gradient_alone(Net& net, const std::vector<int>& ranks, const std::vector<int>& steps,
                             double divisor) {
  net.zero_grad();
  for (const int rank : ranks) {
    for (const int step : steps) (loss_of(net.forward(batch_of(rank, step))) / divisor).backward();
  }
  return flat(gradients(net));
}

inline void expect_same_on_all(const Group& group, const Tensor& tensor, const std::string& what) {
  std::vector<Tensor> theirs{tensor.clone()};
  group->broadcast(theirs)->wait();
  expect(torch::equal(theirs[0], tensor), what + " differs from rank 0's");
}

inline void train(DistributedDataParallel<Net>& net, int rank, int steps, bool set_to_none = true) {
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  for (int step = 0; step < steps; ++step) {
    net.zero_grad(set_to_none);
    loss_of(net(batch_of(rank, step))).backward();
    optimizer.step();
  }
}

inline Tensor trained(const Group& group, const DistributedDataParallelOptions& options,
                      bool set_to_none = true) {
  DistributedDataParallel<Net> net(seeded_net(), group, options);
  train(net, group->getRank(), 5, set_to_none);
  return weights(*net.module());
}

// Computes in one process the steps of three ranks, where rank r has 2 + r batches. Returns the
// weights.
inline Tensor uneven_alone(bool by_initial_size) {
  const auto net = seeded_net();
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int step = 0; step < 4; ++step) {
    std::vector<int> active;
    for (int rank = 0; rank < 3; ++rank) {
      if (step < 2 + rank) active.push_back(rank);
    }
    gradient_alone(*net, active, {step}, by_initial_size ? 3 : static_cast<int>(active.size()));
    optimizer.step();
  }
  return weights(*net);
}

// Defined in ddp_join_cases.cpp.
void join(const Group& group);
void join_with_buffers(const Group& group);
void after_join(const Group& group);
void join_unused(const Group& group);
void join_evaluates(const Group& group);
void join_throws(const Group& group);

}  // namespace muster::test
