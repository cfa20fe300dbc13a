// Reads a safetensors file with a checksum for each tensor. Does not depend on PyTorch.
#pragma once

#include <functional>
#include <string>

#include "torch/checksums.hpp"
#include "torch/tensor_header.hpp"

namespace muster {

// Small enough to stay in the CPU's caches between checksum and read or write.
constexpr size_t kPiece = 4 << 20;

// Reads the whole file. `into` returns the memory for each tensor, or null if the caller does not
// want its bytes. Throws std::runtime_error that names the file.
[[nodiscard]] FileChecksums read_tensor_file(const std::string& path,
                                             const std::function<char*(const TensorPlace&)>& into,
                                             std::map<std::string, std::string>* metadata);

// Computes the checksums only. Apart from the header, it never has more than a few MiB in memory.
[[nodiscard]] FileChecksums read_checksums(const std::string& path);

}  // namespace muster
