// Checkpoints of a training job: model, optimizers, random numbers and whatever else the program
// names, kept whole through crashes, found again by any number of ranks. docs/libmuster.md.
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

struct CheckpointOptions {
  std::string folder;  // is made; shared by all hosts or each host's own: found out, not assumed
  int keep = 2;        // of the newest good ones; damaged ones do not count
  // `save` waits for the copy of the tensors only; else until all is on disk and proven.
  bool asynchronous = true;
  // A file a rank that writes, but none smaller than this.
  int64_t shard_bytes = 64 << 20;
  // How long a rank that writes may take, before the others go on without that checkpoint. They
  // wait for it in the group's next operations: less than the group's own time-out.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  // How long a job that may be lost with its host keeps the folder: it has shown no sign of life
  // for so long. Jobs show one every second.
  std::chrono::milliseconds lost_after = std::chrono::seconds(30);
  // `save` throws after this many failed saves in a row: a warning may stay unread for days.
  // 0: never.
  int max_failures = 5;
  // What was refused, or could not be kept, a line each; nullptr: to standard error. On rank 0,
  // which hears of all.
  std::function<void(const std::string& message)> warn = nullptr;
};

// Small values beside the tensors: numbers, positions, names. What they mean is the program's.
using CheckpointValues = std::map<std::string, std::string>;

struct Checkpoint {
  int64_t step = 0;
  CheckpointValues values;
  // Of a checkpoint that was found where hosts have directories of their own, for people: the hosts
  // that hold it ("n2, n3"), and those that lack it. Both are empty where one directory is shared.
  std::string found_on = {};
  std::string missing_on = {};
};

// All calls are collective: every rank of the group makes them in the same order, on one thread.
class MUSTER_API Checkpoints {
 public:
  // Finds out which ranks share the folder, and removes what a crash left unfinished in it. Throws
  // std::runtime_error that names the job which uses the folder already.
  Checkpoints(const Job& job, c10::intrusive_ptr<c10d::ProcessGroup> group,
              const CheckpointOptions& options);
  ~Checkpoints();  // waits for what is being written
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // What is saved and restored. The same on all ranks; parameters are taken from whichever rank
  // writes, buffers from rank 0, random numbers (of the processor and of the rank's device) from
  // each rank. Optimizers: SGD, Adam, AdamW, Adagrad, RMSprop over parameters of that model.
  void track(const std::string& name, std::shared_ptr<torch::nn::Module> model);
  void track(const std::string& name, torch::optim::Optimizer& optimizer,
             std::shared_ptr<torch::nn::Module> of_model);

  // Restores the newest good checkpoint that any rank's folder holds into everything tracked, on
  // all ranks, and hands it to the hosts that lack it. None: there is none. Random numbers are
  // restored where the number of ranks is that of the save. Throws std::runtime_error when the
  // newest good one is of another model (naming what differs), or when all that are there are
  // damaged (naming each): going on from the start would be a surprise.
  [[nodiscard]] std::optional<Checkpoint> resume();

  // The newest good checkpoint, as `resume` would choose it, with its step and the hosts. Changes
  // nothing: neither what is tracked nor the directories.
  [[nodiscard]] std::optional<Checkpoint> newest();

  // Moves all checkpoints, on every host, into a new directory inside their own, where nothing
  // looks for them: what is tracked can then be saved from the beginning. What was moved, for
  // people, a line for each directory; empty: there was nothing.
  [[nodiscard]] std::string set_aside();

  // Keeps the state as it is now. A checkpoint that could not be kept is told through `warn` at
  // the next call; the earlier ones stay. Throws std::runtime_error on all ranks when
  // `max_failures` saves in a row have failed, and when the folder holds checkpoints of another
  // training, which was not resumed here, or was taken over by another job.
  void save(const Checkpoint& checkpoint);

  // Waits for the last save; false: it could not be kept, and `warn` was told why.
  bool finish();

  // Whether all ranks see the same folder; the same for people: "one folder for all ranks", "3
  // folders that are not shared, each with all of it".
  [[nodiscard]] bool shared() const;
  [[nodiscard]] std::string describe() const;
  // How long the last `save` kept this rank waiting, and how much it copied.
  struct Cost {
    double stall_s = 0;
    int64_t bytes = 0;
  };
  [[nodiscard]] Cost last_cost() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
