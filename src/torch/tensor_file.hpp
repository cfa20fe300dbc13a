// The bytes of a safetensors file, written and read with a checksum for each tensor.
#pragma once

#include <map>
#include <string>

#include "muster/safetensors.hpp"
#include "torch/durable_file.hpp"

namespace muster {

using Checksums = std::map<std::string, std::string>;  // by tensor; 32 hexadecimal digits

struct FileChecksums {
  uint64_t bytes = 0;
  std::string header;  // of the 8 bytes and the JSON
  Checksums tensors;
};

[[nodiscard]] std::string checksum(const void* data, size_t bytes);

// On any device.
[[nodiscard]] FileChecksums write_tensors(NewFile& file, const NamedTensors& tensors,
                                          const Metadata& metadata);

struct CheckedFile {
  TensorFile file;
  FileChecksums checksums;
};
// Throws std::runtime_error that names the file.
[[nodiscard]] CheckedFile read_tensors(const std::string& path);

// Only the checksums; never more than a few MiB in memory but for the header.
[[nodiscard]] FileChecksums read_checksums(const std::string& path);

}  // namespace muster
