// Checkpoints on disk: FOLDER/step-000000000120/{manifest.json, shard-00000-of-00002.safetensors,
// ...}. A folder with such a name is always complete. While it is being written or removed, it has
// another name. Functions throw std::runtime_error that names the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "muster/safetensors.hpp"
#include "torch/checkpoint_manifest.hpp"

namespace muster {

struct LoadedCheckpoint {
  CheckpointManifest manifest;
  NamedTensors tensors;
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // Removes unfinished saves, and restores checkpoints that such a save was about to replace.
  void remove_unfinished() const;
  // The steps that have a checkpoint, newest first. The checkpoints' contents are not checked.
  [[nodiscard]] std::vector<int64_t> steps() const;
  // Reads the whole checkpoint and returns its manifest. Throws if a part is damaged, and names it.
  [[nodiscard]] CheckpointManifest verify(int64_t step) const;
  [[nodiscard]] LoadedCheckpoint load(int64_t step) const;
  // Moves all checkpoints into a new folder inside this one. Returns its path, or "" if there are
  // no checkpoints.
  [[nodiscard]] std::string set_aside() const;
  // Throws if the folder holds a checkpoint of another training. Checkpoints whose manifest cannot
  // be read or names no lineage are ignored.
  void refuse_others(const std::string& lineage) const;
  // Keeps `keep` good checkpoints: `newest`, which was just saved, and the latest ones before it.
  // Removes everything older. Damaged checkpoints do not count. Steps after `newest`, such as
  // damaged ones that a resume has skipped, are left alone.
  void prune(int keep, int64_t newest);

 private:
  friend class UnfinishedCheckpoint;
  [[nodiscard]] std::string folder_of(int64_t step) const;
  [[nodiscard]] bool is_good(int64_t step);

  struct Judged {
    std::string appearance;  // the result of appearance_of() when it was judged
    bool good = false;
  };
  std::string path_;
  // By step. A checkpoint is read again only if its appearance has changed.
  std::map<int64_t, Judged> judged_ = {};
};

// A checkpoint that several processes write together. They see the same folder and use the same
// `mark`.
class UnfinishedCheckpoint {
 public:
  UnfinishedCheckpoint(const CheckpointFolder& folder, int64_t step, const std::string& mark);

  // Writes the shard and reads it back from the disk.
  [[nodiscard]] Shard write_shard(int index, int count, const NamedTensors& tensors) const;

  // These two tell the committing process that a shard is complete, or that it never will be.
  void announce(int index, const Shard& shard) const;
  void announce_failure(int index) const noexcept;
  // Waits until the others have announced all shards from index 1 on, and returns them. Polls every
  // 1 to 50 ms, because network file systems do not report changes. Throws at the deadline, if a
  // writer announces a failure, and when `abandoned` returns true.
  [[nodiscard]] std::vector<Shard> wait_for_others(int count,
                                                   std::chrono::steady_clock::time_point deadline,
                                                   const std::function<bool()>& abandoned) const;

  // Makes the checkpoint valid. It replaces an earlier one of the same step.
  void commit(const CheckpointManifest& manifest) const;
  void remove() const noexcept;

 private:
  [[nodiscard]] std::string announcement(int index) const;
  const CheckpointFolder& folder_;
  int64_t step_;
  std::string path_;
};

}  // namespace muster
