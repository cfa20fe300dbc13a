// The header of a safetensors file: 8 bytes of length, then JSON that says of every tensor what it
// is and where its bytes lie behind the header. Knows nothing of PyTorch.
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
  std::string type = "F32";  // the format's name for it
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // behind the header
  uint64_t end = 0;
};

struct TensorHeader {
  std::vector<TensorPlace> places;  // in the order of their bytes, without a gap
  std::map<std::string, std::string> metadata;
};

constexpr const char* kMetadata = "__metadata__";   // no name for a tensor
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as every reader of the format has it

// Of one element; throws std::runtime_error for a type that the format does not have.
[[nodiscard]] uint64_t element_bytes(const std::string& type);

// Bytes of a tensor of that type and shape; throws where there cannot be one.
[[nodiscard]] uint64_t bytes_of(const std::string& type, const std::vector<int64_t>& shape);

// With its length before it.
[[nodiscard]] std::string encode(const TensorHeader& header);
// Without. Checks that the tensors fill exactly `data_bytes`, if that is said. Throws
// std::runtime_error.
[[nodiscard]] TensorHeader decode(std::string_view json, std::optional<uint64_t> data_bytes);

}  // namespace muster
