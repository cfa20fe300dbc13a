// The training loop of all trainers. A trainer is a recipe: a model, its data and its defaults.
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
  // Makes the model for this number of classes and this image size.
  std::shared_ptr<Classifier> (*make)(const TrainOptions& options, int64_t classes,
                                      int64_t size) = nullptr;
  Normalisation normalisation;
  std::string head;      // name of the classifier, which --freeze backbone still trains
  bool augment = false;  // whether to augment by default, with `shift` and `mirror`
  int64_t shift = 0;
  bool mirror = false;
  // Defaults, which come from trainflags::kModels.
  int64_t epochs = 1;
  int64_t batch_size = 64;
  double lr = 0.1;  // for a batch of 256
  double warmup_epochs = 0;
  double weight_decay = 0;
};

// Trains, evaluates and writes the files that docs/train.md describes. Collective. Throws.
void train(const Job& job, const Group& group, const Recipe& recipe, const TrainOptions& options);

}  // namespace muster::programs
