// The recipe for all ResNets: CIFAR-10, the normalisation (ImageNet's for pretrained weights), and
// the choice of the first layer.
#pragma once

#include "programs/resnet.hpp"
#include "programs/train/cifar10.hpp"
#include "programs/train/loop.hpp"

namespace muster::programs {

inline Stem stem_for(const TrainOptions& options, int64_t size) {
  if (options.stem == "auto") {
    return size < 64 && options.weights.empty() ? Stem::small : Stem::torchvision;
  }
  return options.stem == "small" ? Stem::small : Stem::torchvision;
}

template <class Model>
Recipe resnet_recipe(const TrainOptions& options) {
  // torchvision's weights expect ImageNet's normalisation.
  const Normalisation imagenet{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  const Normalisation cifar10{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
  return {.read = read_cifar10,
          .make = [](const TrainOptions& given, int64_t classes,
                     int64_t size) -> std::shared_ptr<Classifier> {
            return std::make_shared<Model>(classes, stem_for(given, size));
          },
          .normalisation = options.weights.empty() ? cifar10 : imagenet,
          .head = "fc",
          .augment = true,
          .shift = 4,
          .mirror = true};
}

}  // namespace muster::programs
