// The loop that all trainers share. A trainer is a recipe: its model, its data, its defaults.
#pragma once

#include <memory>
#include <string>

#include "muster/job.hpp"
#include "programs/classifier.hpp"
#include "programs/train/agreement.hpp"
#include "programs/train/augment.hpp"
#include "programs/train/dataset.hpp"
#include "trainflags/train_options.hpp"

namespace muster::programs {

using trainflags::TrainOptions;

struct Recipe {
  std::string name = {};
  Dataset (*read)(const std::string& folder) = nullptr;
  // For so many classes and images of that size.
  std::shared_ptr<Classifier> (*make)(const TrainOptions& options, int64_t classes,
                                      int64_t size) = nullptr;
  Normalisation normalisation;
  std::string head;      // the part that tells classes apart; --freeze backbone leaves it free
  bool augment = false;  // unless told otherwise; how:
  int64_t shift = 0;
  bool mirror = false;
  // As trainflags::kModels has them.
  int64_t epochs = 1;
  int64_t batch_size = 64;
  double lr = 0.1;  // for a batch of 256
  double warmup_epochs = 0;
  double weight_decay = 0;
};

// Trains, evaluates and writes what docs/train.md says. Collective. Throws.
void train(const Job& job, const Group& group, const Recipe& recipe, const TrainOptions& options);

}  // namespace muster::programs
