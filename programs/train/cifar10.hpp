// CIFAR-10: the binary version (data_batch_1.bin to data_batch_5.bin and test_batch.bin) or the
// Python version (the same names without .bin).
#pragma once

#include <string>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// Looks in that folder, and in cifar-10-batches-bin or cifar-10-batches-py below it. Accepts any
// number of images. The files may be hostile. Throws BadFile.
[[nodiscard]] Dataset read_cifar10(const std::string& folder);

}  // namespace muster::programs
