// PyTorch's tensors in the words of a safetensors header.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "torch/tensor_header.hpp"

namespace muster {

// "F32"; throws std::runtime_error for a type that the format does not have.
[[nodiscard]] std::string safetensors_type(at::ScalarType type);
[[nodiscard]] at::ScalarType type_of_safetensors(const std::string& name);

// Where the tensors would lie: wide types first, so that each is aligned.
[[nodiscard]] TensorHeader header_for(const NamedTensors& tensors, const Metadata& metadata);

}  // namespace muster
