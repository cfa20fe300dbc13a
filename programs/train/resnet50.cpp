// ResNet-50 on CIFAR-10, from the beginning or from torchvision's weights.
#include "programs/train/resnet_recipe.hpp"

namespace muster::programs {

Recipe resnet50_recipe(const TrainOptions& options) {
  Recipe recipe = resnet_recipe<ResNet50>("resnet50", options);
  recipe.weight_decay = 1e-4;
  return recipe;
}

}  // namespace muster::programs
