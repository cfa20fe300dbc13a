// What a checkpoint consists of, with a checksum for everything; the file manifest.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muster/checkpoint.hpp"
#include "torch/tensor_file.hpp"

namespace muster {

struct Shard {
  std::string file;  // its name in the checkpoint's folder
  FileChecksums checksums;
  friend bool operator==(const Shard& a, const Shard& b) {
    return a.file == b.file && a.checksums.bytes == b.checksums.bytes &&
           a.checksums.header == b.checksums.header && a.checksums.tensors == b.checksums.tensors;
  }
};

struct CheckpointManifest {
  int64_t step = 0;
  int ranks = 0;  // that saved it
  // The training that it belongs to: new where a training begins, the same after each resume.
  std::string lineage;  // empty: written by a muster that did not know it
  CheckpointValues values;
  std::vector<Shard> shards;
};

// Both forms carry a checksum of themselves, and there is one spelling only: a changed bit anywhere
// is seen. Reading throws std::runtime_error that says what is wrong.
[[nodiscard]] std::string encode(const CheckpointManifest& manifest);
[[nodiscard]] CheckpointManifest decode_manifest(const std::string& text);
[[nodiscard]] std::string encode(const Shard& shard);
[[nodiscard]] Shard decode_shard(const std::string& text);

}  // namespace muster
