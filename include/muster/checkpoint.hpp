/// @file
/// Checkpoints of a training job: models, optimizers, random number generators and values of the
/// program. A crash never damages the last good checkpoint, and any number of ranks can resume from
/// it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include "muster/api.hpp"
#include "muster/job.hpp"

namespace muster {

/// Options of Checkpoints.
struct CheckpointOptions {
  /// Directory of the checkpoints; it is created if it does not exist. It may be shared by all
  /// hosts, or be a directory of the same name on each host.
  std::string folder;
  int keep = 2;  ///< How many good checkpoints to keep. Damaged ones do not count.
  /// If true, Checkpoints::save returns as soon as it has copied the tensors, and a thread writes
  /// them. If false, it returns when the checkpoint is on disk and has been read back and verified.
  bool asynchronous = true;
  /// Minimum average size of a shard in bytes. A shard is the file that one rank writes. If a
  /// checkpoint is too small for one shard per rank, fewer ranks write.
  int64_t shard_bytes = 64 << 20;
  /// How long a save may wait for the shards of other ranks before it gives up this checkpoint.
  /// Other ranks may have to wait for that in a collective of their next call, so this must be less
  /// than the group's own timeout.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  /// A directory belongs to one job at a time. If the owner's host cannot be asked whether the
  /// owner still runs, another job takes the directory over when the owner has shown no sign of
  /// life for this long.
  std::chrono::milliseconds lost_after = std::chrono::seconds(30);
  /// Checkpoints::save throws after this many failed saves in a row; 0 means never.
  int max_failures = 5;
  /// Called on rank 0 with each warning, for example that a checkpoint is damaged or was not saved.
  /// A message may have several lines. By default, messages go to standard error.
  std::function<void(const std::string& message)> warn = nullptr;
};

/// Small values that the program saves with its tensors, such as numbers and positions.
using CheckpointValues = std::map<std::string, std::string>;

/// What a checkpoint contains besides the tracked state.
struct Checkpoint {
  int64_t step = 0;         ///< Number of completed steps.
  CheckpointValues values;  ///< The program's own values.
  /// If the hosts do not share the directory: the hosts that had this checkpoint when it was found,
  /// such as "n2, n3". Empty if all ranks share the directory.
  std::string found_on = {};
  /// If the hosts do not share the directory: the hosts that lacked this checkpoint.
  std::string missing_on = {};
};

/// Saves and restores a training job. All calls are collective: every rank of the group must make
/// them in the same order, from one thread.
class MUSTER_API Checkpoints {
 public:
  /// Finds out which ranks share the directory, and removes unfinished files of an earlier crash.
  /// Throws std::runtime_error, which names the other job, if another job uses the directory.
  /// Throws std::invalid_argument if `folder` is empty, or if `keep` or `shard_bytes` is less than
  /// 1.
  Checkpoints(const Job& job, c10::intrusive_ptr<c10d::ProcessGroup> group,
              const CheckpointOptions& options);
  /// Waits until the last checkpoint is written. If an exception destroys the object, it does not
  /// wait for the shards of other ranks.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;             ///< Not copyable.
  Checkpoints& operator=(const Checkpoints&) = delete;  ///< Not copyable.

  /// Adds a model to what is saved and restored. All ranks must add the same models. The buffers
  /// are saved as they are on rank 0. Each checkpoint also contains the state of every rank's
  /// random number generators, those of the CPU and of the rank's device.
  void track(const std::string& name, std::shared_ptr<torch::nn::Module> model);
  /// Adds an optimizer over parameters of a model: SGD, Adam, AdamW, Adagrad or RMSprop.
  void track(const std::string& name, torch::optim::Optimizer& optimizer,
             std::shared_ptr<torch::nn::Module> of_model);

  /// Restores the newest good checkpoint of any host into everything tracked, on all ranks, and
  /// copies it to the hosts that lack it. Returns std::nullopt if there is no checkpoint. If the
  /// number of ranks differs from that of the save, the random number generators are reseeded
  /// instead of restored. Throws std::runtime_error if the newest good checkpoint belongs to
  /// another model, and says what differs. It also throws if there are checkpoints, but all of them
  /// are damaged.
  [[nodiscard]] std::optional<Checkpoint> resume();

  /// Returns step and hosts of the checkpoint that resume() would restore, without its values, or
  /// std::nullopt if there is none. Restores and copies nothing. Throws std::runtime_error if there
  /// are checkpoints, but all of them are damaged.
  [[nodiscard]] std::optional<Checkpoint> newest();

  /// Moves all checkpoints, on every host, into a new directory inside their own, where resume()
  /// does not look, so that the training can begin again. Returns one line for people per directory
  /// whose checkpoints were moved, or "" if there were no checkpoints.
  [[nodiscard]] std::string set_aside();

  /// Saves the current state. If an asynchronous save fails, the next collective call of this
  /// object, such as save() or finish(), reports it through CheckpointOptions::warn. Earlier
  /// checkpoints stay. Throws std::runtime_error on all ranks if CheckpointOptions::max_failures
  /// saves in a row have failed, if the directory contains checkpoints of a training that was not
  /// resumed here, or if another job took over the directory.
  void save(const Checkpoint& checkpoint);

  /// Waits for the last save. If that checkpoint could not be saved, passes the reason to
  /// CheckpointOptions::warn and returns false.
  bool finish();

  /// Returns whether all ranks see the same directory.
  [[nodiscard]] bool shared() const;
  /// Describes for people whether all ranks see the same directory.
  [[nodiscard]] std::string describe() const;
  /// What a save cost this rank.
  struct Cost {
    double stall_s = 0;  ///< How long save() took, in seconds.
    int64_t bytes = 0;   ///< How many bytes this rank copied.
  };
  /// Returns the cost of the last call of save().
  [[nodiscard]] Cost last_cost() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
