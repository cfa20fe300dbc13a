// Tensors in a file, by name: the safetensors format, which Python's safetensors, torchvision's
// weights and many others read and write. No code is ever run from a file.
#pragma once

#include <map>
#include <string>

#include <torch/types.h>

#include "muster/api.hpp"

namespace muster {

using NamedTensors = std::map<std::string, torch::Tensor>;
using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  NamedTensors tensors;
  Metadata metadata;
};

// Whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder. Tensors may
// be on any device and of any strides. Throws std::runtime_error that names the file.
MUSTER_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                                 const Metadata& metadata = {});

// On the processor. The file is taken to be hostile: every length and offset is checked before
// use. Throws std::runtime_error that names the file and what is wrong with it.
[[nodiscard]] MUSTER_API TensorFile load_safetensors(const std::string& path);

}  // namespace muster
