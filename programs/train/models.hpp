// Creates the models of trainflags::kModels.
#pragma once

#include "programs/train/loop.hpp"

namespace muster::programs {

// The recipe of the model that the options name, with its defaults.
[[nodiscard]] Recipe recipe_of(const TrainOptions& options);

}  // namespace muster::programs
