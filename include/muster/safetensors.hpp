/// @file
/// Files in the safetensors format, which contain named tensors and no code.
#pragma once

#include <map>
#include <string>

#include <torch/types.h>

#include "muster/api.hpp"

namespace muster {

/// Tensors by name.
using NamedTensors = std::map<std::string, torch::Tensor>;
/// Strings by name, which the file stores as `__metadata__`.
using Metadata = std::map<std::string, std::string>;

/// The content of a file.
struct TensorFile {
  NamedTensors tensors;  ///< The tensors, on the CPU.
  Metadata metadata;     ///< The strings; empty if the file has none.
};

/// Writes a file completely or not at all: after a crash, either the old or the new file exists.
/// Tensors may be on any device and have any strides. Throws std::runtime_error, which names the
/// file, if it cannot be written or the format cannot store a tensor, for example a sparse one.
MUSTER_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                                 const Metadata& metadata = {});

/// Reads a file. The file may be hostile: every length and offset in it is checked before use.
/// Throws std::runtime_error, which names the file and what is wrong with it.
[[nodiscard]] MUSTER_API TensorFile load_safetensors(const std::string& path);

}  // namespace muster
