// The models of the trainers: their names, data sets and defaults. programs/train/models.cpp
// creates the networks. Uses neither torch nor {fmt}, because this code is part of both muster and
// the training side.
#pragma once

#include <cstdint>
#include <string>

namespace muster::trainflags {

struct Model {
  const char* name;
  const char* data;  // name of the data set
  int64_t epochs;
  int64_t batch_size;  // over all ranks
  double lr;           // for a batch of 256
  double warmup_epochs;
  double weight_decay;
  int64_t tuning_epochs;  // used with --weights, as is tuning_lr
  double tuning_lr;
};

inline constexpr Model kModels[] = {
    {.name = "mnist",
     .data = "mnist",
     .epochs = 5,
     .batch_size = 64,
     .lr = 0.1,
     .warmup_epochs = 0.2,
     .weight_decay = 0,
     .tuning_epochs = 5,
     .tuning_lr = 0.1},
    {.name = "resnet18",
     .data = "cifar10",
     .epochs = 30,
     .batch_size = 128,
     .lr = 0.1,
     .warmup_epochs = 1,
     .weight_decay = 5e-4,
     .tuning_epochs = 5,
     .tuning_lr = 0.02},
    {.name = "resnet50",
     .data = "cifar10",
     .epochs = 30,
     .batch_size = 128,
     .lr = 0.1,
     .warmup_epochs = 1,
     .weight_decay = 1e-4,
     .tuning_epochs = 5,
     .tuning_lr = 0.02},
};

// The name must be in kModels.
[[nodiscard]] const Model& model_named(const std::string& name);

// Returns "mnist, resnet18 or resnet50", with the given separators.
[[nodiscard]] std::string model_names(const std::string& between = ", ",
                                      const std::string& before_last = " or ");

// Returns the defaults of each model, for the end of a help text.
[[nodiscard]] std::string defaults_text();

}  // namespace muster::trainflags
