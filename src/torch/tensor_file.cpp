#include "torch/tensor_file.hpp"

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "torch/tensor_header.hpp"

namespace muster {
namespace {

constexpr size_t kPiece = 4 << 20;  // stays in the caches between checksum and write

std::string hexadecimal(const XXH128_hash_t& hash) {
  std::array<char, 33> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx%016llx",
                      static_cast<unsigned long long>(hash.high64),
                      static_cast<unsigned long long>(hash.low64));
  return text.data();
}

// Of what comes in pieces.
class Sum {
 public:
  Sum() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void add(const void* data, size_t bytes) { XXH3_128bits_update(state_.get(), data, bytes); }
  [[nodiscard]] std::string text() const { return hexadecimal(XXH3_128bits_digest(state_.get())); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

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

// Reads all of it; `into` gives the memory for each tensor, or none.
FileChecksums read_file(const std::string& path,
                        const std::function<char*(const TensorPlace&)>& into, Metadata* metadata) {
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

}  // namespace

std::string checksum(const void* data, size_t bytes) {
  return hexadecimal(XXH3_128bits(data, bytes));
}

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
  result.checksums = read_file(
      path,
      [&](const TensorPlace& place) {
        at::Tensor tensor = at::empty(place.shape, at::TensorOptions(place.type));
        result.file.tensors[place.name] = tensor;
        return static_cast<char*>(tensor.data_ptr());
      },
      &result.file.metadata);
  return result;
}

FileChecksums read_checksums(const std::string& path) {
  return read_file(path, [](const TensorPlace&) -> char* { return nullptr; }, nullptr);
}

}  // namespace muster
