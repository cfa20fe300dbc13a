// How each model of trainflags::kModels is made.
#pragma once

#include "programs/train/loop.hpp"

namespace muster::programs {

// Of the model that the options name, with its defaults.
[[nodiscard]] Recipe recipe_of(const TrainOptions& options);

}  // namespace muster::programs
