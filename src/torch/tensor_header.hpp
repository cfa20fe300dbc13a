// The header of a safetensors file: 8 bytes of length, then JSON that says of every tensor what it
// is and where its bytes lie behind the header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/safetensors.hpp"

namespace muster {

struct TensorPlace {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // behind the header
  uint64_t end = 0;
};

struct TensorHeader {
  std::vector<TensorPlace> places;  // in the order of their bytes, without a gap
  Metadata metadata;
};

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as every reader of the format has it

// "F32"; throws std::runtime_error for a type that the format does not have.
[[nodiscard]] std::string safetensors_type(at::ScalarType type);
[[nodiscard]] at::ScalarType type_of_safetensors(const std::string& name);

// Bytes of a tensor of that type and shape; throws where there cannot be one.
[[nodiscard]] uint64_t bytes_of(at::ScalarType type, const std::vector<int64_t>& shape);

// Where the tensors would lie: wide types first, so that each is aligned.
[[nodiscard]] TensorHeader header_for(const NamedTensors& tensors, const Metadata& metadata);
// With its length before it.
[[nodiscard]] std::string encode(const TensorHeader& header);
// Without. Checks that the tensors fill exactly `data_bytes`, if that is said. Throws
// std::runtime_error.
[[nodiscard]] TensorHeader decode(std::string_view json, std::optional<uint64_t> data_bytes);

}  // namespace muster
