// The flags of the trainers, which `muster train` reads on the launcher and muster-train on every
// rank. Uses neither torch nor {fmt}, because this code is part of both programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace muster::trainflags {

// Flags that are not given get the model's own default; docs/train.md has the table.
struct TrainOptions {
  std::string model;
  std::string dataset_dir;
  std::string output_dir = "output";
  std::optional<int64_t> epochs = std::nullopt;
  std::optional<int64_t> batch_size = std::nullopt;  // over all ranks
  std::optional<double> lr = std::nullopt;           // for a batch of 256
  std::string lr_scaling = "linear";
  std::optional<double> warmup_epochs = std::nullopt;
  std::string schedule = "cosine";
  std::string optimizer = "sgd";
  double momentum = 0.9;
  std::optional<double> weight_decay = std::nullopt;
  int64_t accumulate = 1;
  bool bf16 = false;
  std::string device = "auto";
  std::string backend = "auto";
  uint64_t seed = 1;
  std::string weights;
  std::string freeze;
  std::string stem = "auto";
  std::optional<bool> augment = std::nullopt;
  int64_t image_size = 0;  // 0: keep their size
  int workers = 2;
  int64_t save_every = 0;  // 0: at the end of each epoch
  int keep = 2;
  std::string resume = "auto";
  bool sync_save = false;
  bool save_model = false;
  int threads = 0;  // 0: as the environment says
  double collective_timeout_s = 300;
  int64_t max_steps = 0;  // 0: all
  int64_t log_every = 50;
  std::string logits;
};

// Prefix of the flags' group names in --help.
inline constexpr const char* kTrainGroup = "Training";

// Adds the model, which is a positional argument, and all flags except --threads, which `muster
// run` already has.
void add_train_options(CLI::App& command, TrainOptions& options);
void add_threads_option(CLI::App& command, TrainOptions& options);

// Returns the flags that the user gave, as words for another command line: either the trainers'
// flags or all others. Does not include the model.
[[nodiscard]] std::vector<std::string> given_words(const CLI::App& command, bool of_trainer);

}  // namespace muster::trainflags
