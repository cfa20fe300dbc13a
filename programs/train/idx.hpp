// MNIST, and whatever else has its four files: IDX, images of one channel.
#pragma once

#include <string>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// The files are taken to be hostile. Throws BadFile.
[[nodiscard]] Dataset read_mnist(const std::string& folder);

}  // namespace muster::programs
