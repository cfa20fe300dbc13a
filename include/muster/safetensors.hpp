/// @file
/// Files in the safetensors format: named tensors, and no code.
#pragma once

#include <map>
#include <string>

#include <torch/types.h>

#include "muster/api.hpp"

namespace muster {

/// Tensors by name.
using NamedTensors = std::map<std::string, torch::Tensor>;
/// Texts by name, as the format's `__metadata__`.
using Metadata = std::map<std::string, std::string>;

/// The content of a file.
struct TensorFile {
  NamedTensors tensors;  ///< On the CPU.
  Metadata metadata;     ///< Empty if the file has none.
};

/// Writes a file, whole or not at all: after a crash, the old or the new file is there. Tensors may
/// be on any device and have any strides. Throws std::runtime_error that names the file.
MUSTER_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                                 const Metadata& metadata = {});

/// Reads a file. It may be hostile: every length and offset is checked before use. Throws
/// std::runtime_error that names the file and what is wrong with it.
[[nodiscard]] MUSTER_API TensorFile load_safetensors(const std::string& path);

}  // namespace muster
