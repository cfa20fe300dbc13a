#include "trainflags/train_options.hpp"

namespace muster::trainflags {
namespace {

constexpr int64_t kMany = 1'000'000'000;
constexpr int kFew = 1'000'000;
constexpr const char* kLogits = "--logits";  // shown in no help

void add_place_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--dataset-dir", options.dataset_dir,
                  "Folder of the data set, on every host: MNIST's four IDX files, or CIFAR-10's "
                  "six .bin files")
      ->group(kTrainGroup);
  command
      .add_option("--output-dir", options.output_dir,
                  "Folder for checkpoints, metrics, plot and model; is made")
      ->capture_default_str()
      ->group(kTrainGroup);
  command
      .add_option("--save-every", options.save_every,
                  "Steps between checkpoints; 0: one at the end of each epoch")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kTrainGroup);
  command.add_option("--keep", options.keep, "How many checkpoints stay")
      ->capture_default_str()
      ->check(CLI::Range(1, kFew))
      ->group(kTrainGroup);
  command
      .add_option("--resume", options.resume,
                  "auto: go on from the newest checkpoint in the output folder, if there is one; "
                  "never: refuse a folder that has one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "never"}))
      ->group(kTrainGroup);
  command
      .add_flag("--sync-save", options.sync_save, "Wait for each checkpoint until it is on disk")
      ->group(kTrainGroup);
  command
      .add_flag("--save-model", options.save_model,
                "Accepted for the habit of it: model.safetensors is always written at the end")
      ->group(kTrainGroup);
}

void add_step_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--epochs", options.epochs, "How often the data set is seen; 0: evaluate only")
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kTrainGroup);
  command
      .add_option("--batch-size", options.batch_size,
                  "Samples a step of all ranks together: another number of ranks trains alike")
      ->check(CLI::Range(int64_t{1}, kMany))
      ->group(kTrainGroup);
  command
      .add_option("--accumulate", options.accumulate,
                  "Parts in which a rank computes its share of a batch, for less memory")
      ->capture_default_str()
      ->check(CLI::Range(1, kFew))
      ->group(kTrainGroup);
  command.add_option("--max-steps", options.max_steps, "Stop after so many steps; 0: do not")
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kTrainGroup);
  command.add_option("--log-every", options.log_every, "Steps between lines of metrics")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, kMany))
      ->group(kTrainGroup);
  command
      .add_option("--seed", options.seed, "Weights, order of the samples, augmentation, dropout")
      ->capture_default_str()
      ->group(kTrainGroup);
  command.add_flag("--bf16", options.bf16, "Compute in bfloat16 where that is safe (autocast)")
      ->group(kTrainGroup);
}

void add_rate_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--lr", options.lr, "Learning rate for a batch of 256")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kTrainGroup);
  command
      .add_option("--lr-scaling", options.lr_scaling,
                  "linear: --lr times batch size over 256; none: --lr as it is")
      ->capture_default_str()
      ->check(CLI::IsMember({"linear", "none"}))
      ->group(kTrainGroup);
  command
      .add_option("--warmup-epochs", options.warmup_epochs,
                  "Epochs, or parts of one, in which the learning rate rises to its full height")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kTrainGroup);
  command
      .add_option("--schedule", options.schedule,
                  "The learning rate after that; step: a tenth after half, a hundredth after three "
                  "quarters of all steps")
      ->capture_default_str()
      ->check(CLI::IsMember({"cosine", "step", "constant"}))
      ->group(kTrainGroup);
  command.add_option("--optimizer", options.optimizer, "How weights are changed")
      ->capture_default_str()
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->group(kTrainGroup);
  command.add_option("--momentum", options.momentum, "Of sgd")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0))
      ->group(kTrainGroup);
  command.add_option("--weight-decay", options.weight_decay, "Pull of the weights towards zero")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kTrainGroup);
}

void add_model_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--weights", options.weights,
                  "Begin with these: a .safetensors file with torchvision's names, on rank 0's "
                  "host. A classifier of another size is left out")
      ->group(kTrainGroup);
  command.add_option("--freeze", options.freeze, "backbone: only the classifier learns")
      ->check(CLI::IsMember({"backbone"}))
      ->group(kTrainGroup);
  command
      .add_option("--stem", options.stem,
                  "First layer of a ResNet: torchvision's, or small (3x3, no pooling); auto: small "
                  "for images below 64 without --weights")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "small", "torchvision"}))
      ->group(kTrainGroup);
  command
      .add_option("--image-size", options.image_size,
                  "Enlarge images to this; 0: as they are. For ResNets")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096))
      ->group(kTrainGroup);
  command
      .add_flag("--augment,!--no-augment", options.augment,
                "Random shifts, and for CIFAR-10 mirror images; on for CIFAR-10")
      ->group(kTrainGroup);
}

void add_machine_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--device", options.device, "auto: CUDA where there is a device")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->group(kTrainGroup);
  command.add_option("--backend", options.backend, "What carries the gradients")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "mpi", "gloo", "nccl"}))
      ->group(kTrainGroup);
  command.add_option("--workers", options.workers, "Threads of a rank that prepare batches")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024))
      ->group(kTrainGroup);
  command
      .add_option("--collective-timeout", options.collective_timeout_s,
                  "Seconds after which a rank that does not answer is named and the job ends")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e9))
      ->group(kTrainGroup);
  // For tests: the outputs of the model for rank 0's part of the held-out images.
  command.add_option(kLogits, options.logits)->group("");
}

}  // namespace

void add_train_options(CLI::App& command, TrainOptions& options) {
  command.add_option("MODEL", options.model, "mnist, resnet18 or resnet50")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kModels), std::end(kModels))));
  add_place_options(command, options);
  add_step_options(command, options);
  add_rate_options(command, options);
  add_model_options(command, options);
  add_machine_options(command, options);
}

void add_threads_option(CLI::App& command, TrainOptions& options) {
  command.add_option("--threads", options.threads, "PyTorch's threads; default: OMP_NUM_THREADS")
      ->check(CLI::Range(1, kFew))
      ->group(kTrainGroup);
}

std::vector<std::string> given_words(const CLI::App& command, bool of_trainer) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const bool named = !option->get_lnames().empty() || !option->get_snames().empty();
    if (!named || option->count() == 0) continue;
    const std::string name = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                          : "--" + option->get_lnames().front();
    const bool trainers = option->get_group() == kTrainGroup || name == kLogits;
    if (trainers != of_trainer) continue;
    if (option->get_items_expected_max() == 0) {  // a flag; "false": its opposite was given
      const bool off = option->results().back() == "false";
      words.push_back(off ? "--no-" + name.substr(2) : name);
      continue;
    }
    for (const std::string& value : option->results()) {
      if (value.starts_with("-") && name.starts_with("--")) {  // else it is taken for a flag
        words.push_back(name + "=" + value);
      } else {
        words.insert(words.end(), {name, value});
      }
    }
  }
  return words;
}

std::string defaults_text() {
  return "Defaults of the models:\n"
         "  mnist     5 epochs, batch 64, lr 0.1 (for 256), 0.2 warm-up epochs, weight decay 0\n"
         "  resnet18  30 epochs, batch 128, lr 0.1, 1 warm-up epoch, weight decay 0.0005\n"
         "  resnet50  30 epochs, batch 128, lr 0.1, 1 warm-up epoch, weight decay 0.0001\n"
         "  with --weights both ResNets: 5 epochs, lr 0.02\n\n"
         "The output folder then holds model.safetensors (torchvision's names), metrics.jsonl,\n"
         "training.svg, result.json and checkpoints/, from which an interrupted job goes on.";
}

}  // namespace muster::trainflags
