#include "programs/train/models.hpp"

#include <iterator>
#include <string_view>

#include "programs/train/mnist_recipe.hpp"
#include "programs/train/resnet_recipe.hpp"
#include "trainflags/models.hpp"

namespace muster::programs {
namespace {

using trainflags::kModels;

struct Maker {
  std::string_view model;
  Recipe (*make)(const TrainOptions& options);
};

constexpr Maker kMakers[] = {
    {"mnist", mnist_recipe},
    {"resnet18", resnet_recipe<ResNet18>},
    {"resnet50", resnet_recipe<ResNet50>},
};

constexpr bool has_one_maker_per_model() {
  if (std::size(kMakers) != std::size(kModels)) return false;
  for (std::size_t i = 0; i < std::size(kModels); ++i) {
    if (kMakers[i].model != kModels[i].name) return false;
  }
  return true;
}
static_assert(has_one_maker_per_model(), "kMakers and kModels list the same models in one order");

}  // namespace

Recipe recipe_of(const TrainOptions& options) {
  const trainflags::Model& model = trainflags::model_named(options.model);
  const bool tuning = !options.weights.empty();
  Recipe recipe = kMakers[&model - kModels].make(options);
  recipe.name = model.name;
  recipe.epochs = tuning ? model.tuning_epochs : model.epochs;
  recipe.batch_size = model.batch_size;
  recipe.lr = tuning ? model.tuning_lr : model.lr;
  recipe.warmup_epochs = model.warmup_epochs;
  recipe.weight_decay = model.weight_decay;
  return recipe;
}

}  // namespace muster::programs
