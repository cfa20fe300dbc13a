// Converts between PyTorch's types and the names of the safetensors format.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "torch/tensor_header.hpp"

namespace muster {

// For example "F32". Throws std::runtime_error for types that the format does not have.
[[nodiscard]] std::string safetensors_type(at::ScalarType type);
[[nodiscard]] at::ScalarType type_of_safetensors(const std::string& name);

// The layout of the tensors in a file: wide types first, so that each tensor is aligned.
[[nodiscard]] TensorHeader header_for(const NamedTensors& tensors, const Metadata& metadata);

}  // namespace muster
