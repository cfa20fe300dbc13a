// CIFAR-10: the binary version (data_batch_1.bin to data_batch_5.bin and test_batch.bin) or the
// Python version (the same names without .bin).
#pragma once

#include <string>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// In that folder, or in cifar-10-batches-bin or cifar-10-batches-py below it. The files are taken
// to be hostile; any number of images is accepted. Throws BadFile.
[[nodiscard]] Dataset read_cifar10(const std::string& folder);

}  // namespace muster::programs
