#include "torch/tensor_file.hpp"

#include <algorithm>

#include "torch/tensor_reader.hpp"
#include "torch/tensor_types.hpp"

namespace muster {

FileChecksums write_tensors(NewFile& file, const NamedTensors& tensors, const Metadata& metadata) {
  const TensorHeader header = header_for(tensors, metadata);
  const std::string encoded = encode(header);
  file.write(encoded.data(), encoded.size());
  FileChecksums checksums{
      .bytes = encoded.size(), .header = checksum(encoded.data(), encoded.size()), .tensors = {}};
  for (const TensorPlace& place : header.places) {
    const at::Tensor tensor =
        tensors.at(place.name).detach().cpu().resolve_conj().resolve_neg().contiguous();
    const char* next = static_cast<const char*>(tensor.const_data_ptr());
    Sum sum;
    for (uint64_t left = place.end - place.begin; left > 0;) {
      const size_t now = std::min<uint64_t>(left, kPiece);
      sum.add(next, now);
      file.write(next, now);
      next += now;
      left -= now;
    }
    checksums.bytes += place.end - place.begin;
    checksums.tensors[place.name] = sum.text();
  }
  return checksums;
}

CheckedFile read_tensors(const std::string& path) {
  CheckedFile result;
  result.checksums = read_tensor_file(
      path,
      [&](const TensorPlace& place) {
        at::Tensor tensor =
            at::empty(place.shape, at::TensorOptions(type_of_safetensors(place.type)));
        result.file.tensors[place.name] = tensor;
        return static_cast<char*>(tensor.data_ptr());
      },
      &result.file.metadata);
  return result;
}

}  // namespace muster
