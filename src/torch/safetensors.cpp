#include "muster/safetensors.hpp"

#include <stdexcept>

#include "torch/durable_file.hpp"
#include "torch/tensor_file.hpp"

namespace muster {

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const Metadata& metadata) {
  try {
    write_whole_file(path, [&](NewFile& file) { (void)write_tensors(file, tensors, metadata); });
  } catch (const std::exception& error) {
    throw std::runtime_error("cannot save " + path + ": " + error.what());
  }
}

TensorFile load_safetensors(const std::string& path) {
  return read_tensors(path).file;
}

}  // namespace muster
