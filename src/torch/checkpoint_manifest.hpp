// What a checkpoint consists of, with a checksum for everything; the file manifest.json.
// Knows nothing of PyTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "torch/checksums.hpp"

namespace muster {

struct Shard {
  std::string file;  // its name in the checkpoint's folder
  FileChecksums checksums;
  friend bool operator==(const Shard&, const Shard&) = default;
};

struct CheckpointManifest {
  int64_t step = 0;
  int ranks = 0;  // that saved it
  // The training that it belongs to: new where a training begins, the same after each resume.
  std::string lineage;                        // empty: written by a muster that did not know it
  std::map<std::string, std::string> values;  // the CheckpointValues of its user
  std::vector<Shard> shards;
};

// Both forms carry a checksum of themselves, and there is one spelling only: a changed bit anywhere
// is seen. Reading throws std::runtime_error that says what is wrong.
[[nodiscard]] std::string encode(const CheckpointManifest& manifest);
[[nodiscard]] CheckpointManifest decode_manifest(const std::string& text);
[[nodiscard]] std::string encode(const Shard& shard);
[[nodiscard]] Shard decode_shard(const std::string& text);

}  // namespace muster
