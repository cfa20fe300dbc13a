// The header of a safetensors file: a length (8 bytes), then JSON with the type, the shape and the
// position of every tensor. Does not depend on PyTorch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct TensorPlace {
  std::string name;
  std::string type = "F32";  // the format's name for the type
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // offset from the end of the header
  uint64_t end = 0;
};

struct TensorHeader {
  std::vector<TensorPlace> places;  // in the order of their bytes, without gaps
  std::map<std::string, std::string> metadata;
};

constexpr const char* kMetadata = "__metadata__";   // never the name of a tensor
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the limit of all readers of the format

// Returns the size of one element. Throws std::runtime_error for types that the format does not
// have.
[[nodiscard]] uint64_t element_bytes(const std::string& type);

// Returns the size of a tensor with this type and shape. Throws std::runtime_error if the type is
// unknown or no memory could hold the tensor.
[[nodiscard]] uint64_t bytes_of(const std::string& type, const std::vector<int64_t>& shape);

// The header's bytes, with the length in front.
[[nodiscard]] std::string encode(const TensorHeader& header);
// Takes the JSON without the length. Checks that the tensors fill exactly `data_bytes`, if given.
// Throws std::runtime_error.
[[nodiscard]] TensorHeader decode(std::string_view json, std::optional<uint64_t> data_bytes);

}  // namespace muster
