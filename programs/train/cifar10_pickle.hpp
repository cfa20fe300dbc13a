// Reads a batch of CIFAR-10's Python version: a pickle, written by Python 2, of a dictionary with
// labels and an array of pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/train/dataset.hpp"

namespace muster::programs {

// Adds the batch's images to `set`. A pickle is a program, but this reader runs none: it compares
// the bytes with the instructions in CIFAR-10's own files and rejects everything else. Throws
// BadFile with the offset. `path` is for messages.
void add_cifar10_pickle(const std::string& path, const std::vector<uint8_t>& bytes, ImageSet& set);

}  // namespace muster::programs
