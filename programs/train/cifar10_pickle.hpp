// One batch of CIFAR-10's Python version: a pickle of a dictionary with labels and an array of
// pixels, as Python 2 wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// Adds the images of the batch to `set`. A pickle is a program. This reader runs none: it compares
// the bytes with the instructions of CIFAR-10's own files and refuses everything else. Throws
// BadFile, with the offset; `path` is for people.
void add_cifar10_pickle(const std::string& path, const std::vector<uint8_t>& bytes, ImageSet& set);

}  // namespace muster::programs
