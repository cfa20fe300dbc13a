// Writes and reads safetensors files, with a checksum for each tensor.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "torch/checksums.hpp"
#include "torch/durable_file.hpp"

namespace muster {

// The tensors may be on any device.
[[nodiscard]] FileChecksums write_tensors(NewFile& file, const NamedTensors& tensors,
                                          const Metadata& metadata);

struct CheckedFile {
  TensorFile file;
  FileChecksums checksums;
};
// Throws std::runtime_error that names the file.
[[nodiscard]] CheckedFile read_tensors(const std::string& path);

}  // namespace muster
