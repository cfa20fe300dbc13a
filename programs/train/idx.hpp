// MNIST, and other data sets that consist of the same four files: IDX, images with one channel.
#pragma once

#include <string>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// The files may be hostile. Throws BadFile.
[[nodiscard]] Dataset read_mnist(const std::string& folder);

}  // namespace muster::programs
