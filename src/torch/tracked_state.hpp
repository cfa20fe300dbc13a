// What a training program's models and optimizers hold, as tensors by name, and back.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "muster/checkpoint.hpp"
#include "muster/safetensors.hpp"

namespace muster {

// Of the moment: the tensors are those of the model, not copies.
struct CollectedState {
  NamedTensors tensors;
  std::set<std::string> buffers;  // of `tensors`; may differ between ranks
  CheckpointValues values;
};

// Whether a value is the library's and not the program's.
[[nodiscard]] bool is_own_value(const std::string& key);

class TrackedState {
 public:
  void add(const std::string& name, std::shared_ptr<torch::nn::Module> model);
  void add(const std::string& name, torch::optim::Optimizer& optimizer,
           std::shared_ptr<torch::nn::Module> of_model);

  [[nodiscard]] CollectedState collect() const;

  // Throws std::runtime_error that says what differs, before anything is changed. Takes what
  // `collect` gave on another day; names that it does not know are refused.
  void restore(const NamedTensors& tensors, const CheckpointValues& values);

 private:
  struct Model {
    std::string name;
    std::shared_ptr<torch::nn::Module> module;
  };
  struct Optimizer {
    std::string name;
    torch::optim::Optimizer* optimizer;
    std::shared_ptr<torch::nn::Module> module;
  };
  void refuse_taken(const std::string& name) const;
  void check(const NamedTensors& tensors) const;

  std::vector<Model> models_;
  std::vector<Optimizer> optimizers_;
};

}  // namespace muster
