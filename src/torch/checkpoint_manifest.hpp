// The contents of a checkpoint, with a checksum for everything: the file manifest.json. Does not
// depend on PyTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "torch/checksums.hpp"

namespace muster {

struct Shard {
  std::string file;  // name in the checkpoint's folder
  FileChecksums checksums;
  friend bool operator==(const Shard&, const Shard&) = default;
};

struct CheckpointManifest {
  int64_t step = 0;
  int ranks = 0;  // number of ranks that saved it
  // Identifies the training that the checkpoint belongs to: new for a new training, and unchanged
  // by each resume.
  std::string lineage;                        // empty: written by an older muster
  std::map<std::string, std::string> values;  // the program's CheckpointValues
  std::vector<Shard> shards;
};

// Both texts contain their own checksum and have only one valid form, so that any changed bit is
// detected. Decoding throws std::runtime_error with the reason.
[[nodiscard]] std::string encode(const CheckpointManifest& manifest);
[[nodiscard]] CheckpointManifest decode_manifest(const std::string& text);
[[nodiscard]] std::string encode(const Shard& shard);
[[nodiscard]] Shard decode_shard(const std::string& text);

}  // namespace muster
