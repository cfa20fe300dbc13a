// Reads a safetensors file with a checksum for each tensor. Does not depend on PyTorch.
#pragma once

#include <functional>
#include <string>

#include "torch/checksums.hpp"
#include "torch/tensor_header.hpp"

namespace muster {

// Bytes to read or write at a time. Few enough that a piece is still in the CPU's caches when its
// checksum is computed.
constexpr size_t kPiece = 4 << 20;

// Reads the whole file. `into` returns the memory for each tensor, or null if the caller does not
// want its bytes. Throws std::runtime_error that names the file.
[[nodiscard]] FileChecksums read_tensor_file(const std::string& path,
                                             const std::function<char*(const TensorPlace&)>& into,
                                             std::map<std::string, std::string>* metadata);

// Computes only the checksums. Apart from the header, never holds more than a few MiB in memory.
[[nodiscard]] FileChecksums read_checksums(const std::string& path);

}  // namespace muster
