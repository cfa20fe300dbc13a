#include "torch/tensor_reader.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "torch/durable_file.hpp"

namespace muster {
namespace {

struct ReadHeader {
  TensorHeader header;
  std::string checksum;
};

ReadHeader read_header(OldFile& file, const std::string& path) {
  std::array<unsigned char, 8> encoded{};
  if (file.size() < encoded.size()) {
    throw std::runtime_error(path + ": " + std::to_string(file.size()) +
                             " bytes are too few for a safetensors file");
  }
  file.read(encoded.data(), encoded.size());
  uint64_t length = 0;
  for (size_t i = encoded.size(); i-- > 0;) length = length << 8 | encoded[i];
  const uint64_t behind = file.size() - encoded.size();
  if (length > kMostHeaderBytes || length > behind) {
    throw std::runtime_error(path + ": its header would have " + std::to_string(length) +
                             " bytes, and the file has " + std::to_string(file.size()) +
                             ": the file is cut off or not a safetensors file");
  }
  std::string json(length, '\0');
  file.read(json.data(), json.size());
  Sum sum;
  sum.add(encoded.data(), encoded.size());
  sum.add(json.data(), json.size());
  try {
    return {decode(json, behind - length), sum.text()};
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

}  // namespace

FileChecksums read_tensor_file(const std::string& path,
                               const std::function<char*(const TensorPlace&)>& into,
                               std::map<std::string, std::string>* metadata) {
  OldFile file(path);
  const auto [header, sum_of_header] = read_header(file, path);
  FileChecksums checksums{.bytes = file.size(), .header = sum_of_header, .tensors = {}};
  std::vector<char> piece;
  for (const TensorPlace& place : header.places) {
    char* memory = nullptr;
    try {
      memory = into(place);
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ": not enough memory for " + place.name + ": " +
                               error.what());
    }
    if (memory == nullptr) piece.resize(kPiece);
    Sum sum;
    for (uint64_t left = place.end - place.begin; left > 0;) {
      const size_t now = std::min<uint64_t>(left, kPiece);
      char* to = memory == nullptr ? piece.data() : memory;
      file.read(to, now);
      sum.add(to, now);
      if (memory != nullptr) memory += now;
      left -= now;
    }
    checksums.tensors[place.name] = sum.text();
  }
  if (metadata != nullptr) *metadata = header.metadata;
  return checksums;
}

FileChecksums read_checksums(const std::string& path) {
  return read_tensor_file(path, [](const TensorPlace&) -> char* { return nullptr; }, nullptr);
}

}  // namespace muster
