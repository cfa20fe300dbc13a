// ResNet-18 on CIFAR-10.
#include "programs/train/resnet_recipe.hpp"

namespace muster::programs {

Recipe resnet18_recipe(const TrainOptions& options) {
  Recipe recipe = resnet_recipe<ResNet18>("resnet18", options);
  recipe.weight_decay = 5e-4;
  return recipe;
}

}  // namespace muster::programs
