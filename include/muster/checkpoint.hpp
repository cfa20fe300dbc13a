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
  /// Whether Checkpoints::save returns when it has copied the tensors. Otherwise it returns when
  /// everything is on disk and verified.
  bool asynchronous = true;
  /// Smallest size of a shard. Each rank that writes makes one file.
  int64_t shard_bytes = 64 << 20;
  /// How long a rank may take to write before the others continue without this checkpoint. They
  /// wait in the group's next collectives, so this must be less than the group's own timeout.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  /// A directory belongs to one job at a time. Another job may take it over if its owner, on a host
  /// that cannot be asked, has shown no sign of life for this long.
  std::chrono::milliseconds lost_after = std::chrono::seconds(30);
  /// Checkpoints::save throws after this many failed saves in a row; 0 means never.
  int max_failures = 5;
  /// Called on rank 0 with one line for each checkpoint that was rejected or could not be kept. By
  /// default the lines go to standard error.
  std::function<void(const std::string& message)> warn = nullptr;
};

/// Small values that the program saves with its tensors, such as numbers and positions.
using CheckpointValues = std::map<std::string, std::string>;

/// What a checkpoint contains besides the tracked state.
struct Checkpoint {
  int64_t step = 0;         ///< Steps done.
  CheckpointValues values;  ///< The program's own values.
  /// If hosts have directories of their own: the hosts that had this checkpoint when it was found,
  /// such as "n2, n3". Empty if the directory is shared.
  std::string found_on = {};
  /// Likewise, the hosts that lacked it.
  std::string missing_on = {};
};

/// Saves and restores a training job. All calls are collective: every rank of the group must make
/// them in the same order, from one thread.
class MUSTER_API Checkpoints {
 public:
  /// Finds out which ranks share the directory, and removes unfinished files of an earlier crash.
  /// Throws std::runtime_error if another job uses the directory, and names that job.
  Checkpoints(const Job& job, c10::intrusive_ptr<c10d::ProcessGroup> group,
              const CheckpointOptions& options);
  /// Waits until the last checkpoint is written.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;             ///< Not copyable.
  Checkpoints& operator=(const Checkpoints&) = delete;  ///< Not copyable.

  /// Adds a model to what is saved and restored; all ranks add the same. Buffers are saved from
  /// rank 0, and the random number generators of the CPU and of the rank's device from each rank.
  void track(const std::string& name, std::shared_ptr<torch::nn::Module> model);
  /// Adds an optimizer over parameters of a model: SGD, Adam, AdamW, Adagrad or RMSprop.
  void track(const std::string& name, torch::optim::Optimizer& optimizer,
             std::shared_ptr<torch::nn::Module> of_model);

  /// Restores the newest good checkpoint of any host into everything tracked, on all ranks, and
  /// copies it to the hosts that lack it. Returns nothing if there is no checkpoint. Random number
  /// generators are restored only if the number of ranks is the same as when it was saved. Throws
  /// std::runtime_error if the newest good checkpoint belongs to another model, and says what
  /// differs; also if there are checkpoints but all are damaged.
  [[nodiscard]] std::optional<Checkpoint> resume();

  /// The checkpoint that resume() would restore. Changes nothing.
  [[nodiscard]] std::optional<Checkpoint> newest();

  /// Moves all checkpoints, on every host, into a new directory inside their own, where resume()
  /// does not look, so that the training can begin again. Returns one line for each directory that
  /// was moved, for people; empty if there was none.
  [[nodiscard]] std::string set_aside();

  /// Saves the current state. If a checkpoint could not be kept, the next call reports it through
  /// CheckpointOptions::warn, and earlier checkpoints stay. Throws std::runtime_error on all ranks
  /// if CheckpointOptions::max_failures saves in a row have failed, if the directory contains
  /// checkpoints of a training that was not resumed here, and if another job took over the
  /// directory.
  void save(const Checkpoint& checkpoint);

  /// Waits for the last save. Returns false if that checkpoint could not be kept;
  /// CheckpointOptions::warn then got the reason.
  bool finish();

  /// Whether all ranks see the same directory.
  [[nodiscard]] bool shared() const;
  /// The same in words, for people.
  [[nodiscard]] std::string describe() const;
  /// What a save cost this rank.
  struct Cost {
    double stall_s = 0;  ///< How long save() took, in seconds.
    int64_t bytes = 0;   ///< How much it copied.
  };
  /// The cost of the last save.
  [[nodiscard]] Cost last_cost() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
