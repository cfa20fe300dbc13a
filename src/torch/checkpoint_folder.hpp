// Checkpoints on disk: FOLDER/step-000000000120/{manifest.json, shard-00000-of-00002.safetensors,
// ...}. A folder of that name is complete from the moment that it has it; what is being written, or
// removed, has another name. Throws std::runtime_error that names the file.
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
  // Removes saves that were not completed, and restores what they were about to replace.
  void remove_unfinished() const;
  // Newest first; not looked into.
  [[nodiscard]] std::vector<int64_t> steps() const;
  // Reads all of it. What is damaged is named.
  [[nodiscard]] CheckpointManifest verify(int64_t step) const;
  [[nodiscard]] LoadedCheckpoint load(int64_t step) const;
  // Moves all of them into a new folder inside this one, which it returns; empty: there are none.
  [[nodiscard]] std::string set_aside() const;
  // Throws if there is a checkpoint of another training. One whose manifest cannot be read, or does
  // not say, is none.
  void refuse_others(const std::string& lineage) const;
  // Keeps `newest`, which was just saved, and the good ones before it until there are `keep`;
  // removes what is older. Damaged ones do not count. Later ones were refused.
  void prune(int keep, int64_t newest);

 private:
  friend class UnfinishedCheckpoint;
  [[nodiscard]] std::string folder_of(int64_t step) const;
  [[nodiscard]] bool is_good(int64_t step);

  struct Judged {
    std::string appearance;  // of its files at that time
    bool good = false;
  };
  std::string path_;
  std::map<int64_t, Judged> judged_ = {};  // by step: only what has changed is read again
};

// One that is being written, by several processes that see the same folder and agree about `mark`.
class UnfinishedCheckpoint {
 public:
  UnfinishedCheckpoint(const CheckpointFolder& folder, int64_t step, const std::string& mark);

  // Writes it, and reads it back from the disk.
  [[nodiscard]] Shard write_shard(int index, int count, const NamedTensors& tensors) const;

  // To the process that commits: this shard is there, or never will be.
  void announce(int index, const Shard& shard) const;
  void announce_failure(int index) const noexcept;
  // The shards that others announce, from index 1 on. Looks every few milliseconds, since no file
  // system over a network tells of changes. Throws at the deadline, on a failure, and when
  // `abandoned` says so.
  [[nodiscard]] std::vector<Shard> wait_for_others(int count,
                                                   std::chrono::steady_clock::time_point deadline,
                                                   const std::function<bool()>& abandoned) const;

  // Makes the checkpoint valid, in place of an earlier one of that step.
  void commit(const CheckpointManifest& manifest) const;
  void remove() const noexcept;

 private:
  [[nodiscard]] std::string announcement(int index) const;
  const CheckpointFolder& folder_;
  int64_t step_;
  std::string path_;
};

}  // namespace muster
