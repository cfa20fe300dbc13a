// Collects the state of a program's models and optimizers as tensors by name, and restores it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "muster/checkpoint.hpp"
#include "muster/safetensors.hpp"

namespace muster {

// The tensors are not copies but those of the models and optimizers themselves, except for an
// optimizer's counts of steps.
struct CollectedState {
  NamedTensors tensors;
  std::set<std::string> buffers;  // names in `tensors` whose values may differ between ranks
  CheckpointValues values;
};

// Whether a value was added by libmuster and not by the program.
[[nodiscard]] bool is_own_value(const std::string& key);

class TrackedState {
 public:
  void add(const std::string& name, std::shared_ptr<torch::nn::Module> model);
  void add(const std::string& name, torch::optim::Optimizer& optimizer,
           std::shared_ptr<torch::nn::Module> of_model);

  [[nodiscard]] CollectedState collect() const;

  // Restores the result of an earlier `collect`. Checks everything before it changes anything, and
  // throws std::runtime_error that says what differs. Rejects unknown names.
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
