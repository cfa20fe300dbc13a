// Reads a safetensors file with a checksum for each tensor. Knows nothing of PyTorch.
#pragma once

#include <functional>
#include <string>

#include "torch/checksums.hpp"
#include "torch/tensor_header.hpp"

namespace muster {

constexpr size_t kPiece = 4 << 20;  // stays in the caches between checksum and read or write

// Reads all of it. `into` gives the memory for each tensor, or null if its bytes are not wanted.
// Throws std::runtime_error that names the file.
[[nodiscard]] FileChecksums read_tensor_file(const std::string& path,
                                             const std::function<char*(const TensorPlace&)>& into,
                                             std::map<std::string, std::string>* metadata);

// Only the checksums; never more than a few MiB in memory but for the header.
[[nodiscard]] FileChecksums read_checksums(const std::string& path);

}  // namespace muster
