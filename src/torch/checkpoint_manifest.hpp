// The file manifest.json, which lists the contents of a checkpoint with a checksum for each part.
// Does not depend on PyTorch.
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
  // Identifies the training that the checkpoint belongs to. A new training gets a new one, and a
  // resume keeps it. "" if an older muster wrote the checkpoint.
  std::string lineage;
  std::map<std::string, std::string> values;  // the program's CheckpointValues
  std::vector<Shard> shards;
};

// An encoded text contains its own checksum and has only one valid form, so that any changed bit is
// detected. Decoding throws std::runtime_error with the reason.
[[nodiscard]] std::string encode(const CheckpointManifest& manifest);
[[nodiscard]] CheckpointManifest decode_manifest(const std::string& text);
[[nodiscard]] std::string encode(const Shard& shard);
[[nodiscard]] Shard decode_shard(const std::string& text);

}  // namespace muster
