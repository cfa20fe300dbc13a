// Checksums of a file and of the tensors in it. Does not depend on PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace muster {

// Checksums of 32 hexadecimal digits, by the name of the tensor.
using Checksums = std::map<std::string, std::string>;

struct FileChecksums {
  uint64_t bytes = 0;
  std::string header;  // checksum of the header: its length (8 bytes) and the JSON
  Checksums tensors;
  friend bool operator==(const FileChecksums&, const FileChecksums&) = default;
};

[[nodiscard]] std::string checksum(const void* data, size_t bytes);

// Computes the checksum of data that arrive in pieces.
class Sum {
 public:
  Sum();
  ~Sum();
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  void add(const void* data, size_t bytes);
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
