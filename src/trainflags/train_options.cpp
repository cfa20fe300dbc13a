#include "trainflags/train_options.hpp"

#include "trainflags/duration_option.hpp"
#include "trainflags/models.hpp"

namespace muster::trainflags {
namespace {

// All groups begin with kTrainGroup, by which given_words recognises the trainers' flags.
constexpr const char* kPlaces = "Training (data and checkpoints)";
constexpr const char* kSteps = "Training (steps)";
constexpr const char* kRate = "Training (optimizer and learning rate)";
constexpr const char* kModel = "Training (model)";
constexpr const char* kMachine = "Training (devices and communication)";

constexpr int64_t kMany = 1'000'000'000;
constexpr int kFew = 1'000'000;
constexpr const char* kLogits = "--logits";  // a hidden flag

void add_place_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--dataset-dir", options.dataset_dir,
                  "Directory with the data set on every host: the four IDX files of MNIST, or the "
                  "six batches of CIFAR-10, in its binary or its Python version")
      ->type_name("PATH")
      ->group(kPlaces);
  command
      .add_option("--output-dir", options.output_dir,
                  "Directory for checkpoints, metrics, plot and model")
      ->type_name("PATH")
      ->capture_default_str()
      ->group(kPlaces);
  command
      .add_option("--save-every", options.save_every,
                  "Steps between checkpoints; 0 means one checkpoint per epoch")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kPlaces);
  command.add_option("--keep", options.keep, "Number of checkpoints to keep")
      ->capture_default_str()
      ->check(CLI::Range(1, kFew))
      ->group(kPlaces);
  command
      .add_option(
          "--resume", options.resume,
          "auto: continue from the newest checkpoint in the output directory of any host, if "
          "there is one; never: stop with an error if there is one; fresh: move old "
          "checkpoints aside on all hosts and start from the beginning")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "never", "fresh"}))
      ->group(kPlaces);
  command
      .add_flag(
          "--sync-save", options.sync_save,
          "Stop training while a checkpoint is written, instead of writing it in the background")
      ->group(kPlaces);
  command
      .add_flag("--save-model", options.save_model,
                "Has no effect: model.safetensors is always written")
      ->group(kPlaces);
}

void add_step_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--epochs", options.epochs, "Passes over the data set; 0 means only evaluate")
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kSteps);
  command
      .add_option("--batch-size", options.batch_size, "Samples per step, for all ranks together")
      ->check(CLI::Range(int64_t{1}, kMany))
      ->group(kSteps);
  command
      .add_option("--accumulate", options.accumulate,
                  "Compute each rank's share of a batch in N parts, to save memory")
      ->capture_default_str()
      ->check(CLI::Range(1, kFew))
      ->group(kSteps);
  command.add_option("--max-steps", options.max_steps, "Stop after N steps; 0 means no limit")
      ->check(CLI::Range(int64_t{0}, kMany))
      ->group(kSteps);
  command.add_option("--log-every", options.log_every, "Write a line of metrics every N steps")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, kMany))
      ->group(kSteps);
  command
      .add_option("--seed", options.seed,
                  "Seed for weights, sample order, augmentation and dropout")
      ->capture_default_str()
      ->group(kSteps);
  command
      .add_flag("--bf16", options.bf16,
                "Use bfloat16 for the operations where PyTorch's autocast allows it")
      ->group(kSteps);
}

void add_rate_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option(
          "--lr", options.lr,
          "Learning rate for a batch of 256 on all ranks together; scaled to the real batch size")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kRate);
  command
      .add_option("--lr-scaling", options.lr_scaling,
                  "linear: multiply --lr by batch size / 256; none: use --lr unchanged")
      ->capture_default_str()
      ->check(CLI::IsMember({"linear", "none"}))
      ->group(kRate);
  command
      .add_option("--warmup-epochs", options.warmup_epochs,
                  "Epochs over which the learning rate rises to its full value; may be a fraction")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kRate);
  command
      .add_option("--schedule", options.schedule,
                  "How the learning rate changes after warm-up; step divides it by 10 after half "
                  "and again after three quarters of all steps")
      ->capture_default_str()
      ->check(CLI::IsMember({"cosine", "step", "constant"}))
      ->group(kRate);
  command.add_option("--optimizer", options.optimizer, "Optimizer")
      ->capture_default_str()
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->group(kRate);
  command.add_option("--momentum", options.momentum, "Momentum of sgd")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0))
      ->group(kRate);
  command.add_option("--weight-decay", options.weight_decay, "Weight decay")
      ->check(CLI::Range(0.0, 1e6))
      ->group(kRate);
}

void add_model_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--weights", options.weights,
                  "Start from the weights in this .safetensors file on rank 0's host, which uses "
                  "torchvision's names; a classifier of another size is skipped")
      ->type_name("PATH")
      ->group(kModel);
  command.add_option("--freeze", options.freeze, "Train only the classifier")
      ->check(CLI::IsMember({"backbone"}))
      ->group(kModel);
  command
      .add_option("--stem", options.stem,
                  "First layer of a ResNet; small is 3x3 without pooling; auto means small for "
                  "images under 64 pixels unless you pass --weights; one of")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "small", "torchvision"}))
      ->group(kModel);
  command
      .add_option("--image-size", options.image_size,
                  "For ResNets: scale images to N x N pixels; 0 means no scaling")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096))
      ->group(kModel);
  command
      .add_flag("--augment,!--no-augment", options.augment,
                "Shift training images at random, and mirror those of CIFAR-10; default: on for "
                "CIFAR-10, off for MNIST")
      ->group(kModel);
}

void add_machine_options(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--device", options.device, "Where to train; auto means on a GPU if there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->group(kMachine);
  command
      .add_option("--backend", options.backend,
                  "Communication backend that exchanges the gradients")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "mpi", "gloo", "nccl"}))
      ->group(kMachine);
  command
      .add_option("--workers", options.workers, "Threads per rank that load and prepare batches")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024))
      ->group(kMachine);
  takes_duration(
      command.add_option("--collective-timeout", options.collective_timeout_s,
                         "End the job if a collective operation waits this long for a rank"),
      1)
      ->capture_default_str()
      ->group(kMachine);
  // For tests only: where to write the model's outputs for rank 0's part of the held-out images.
  command.add_option(kLogits, options.logits)->group("");
}

}  // namespace

void add_train_options(CLI::App& command, TrainOptions& options) {
  std::vector<std::string> names;
  for (const Model& model : kModels) names.emplace_back(model.name);
  command.add_option("MODEL", options.model, model_names())
      ->required()
      ->check(CLI::IsMember(names));
  add_place_options(command, options);
  add_step_options(command, options);
  add_rate_options(command, options);
  add_model_options(command, options);
  add_machine_options(command, options);
}

void add_threads_option(CLI::App& command, TrainOptions& options) {
  command
      .add_option("--threads", options.threads,
                  "Number of threads that PyTorch uses; default: OMP_NUM_THREADS")
      ->check(CLI::Range(1, kFew))
      ->group(kMachine);
}

std::vector<std::string> given_words(const CLI::App& command, bool of_trainer) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const bool named = !option->get_lnames().empty() || !option->get_snames().empty();
    if (!named || option->count() == 0) continue;
    const std::string name = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                          : "--" + option->get_lnames().front();
    const bool trainers = option->get_group().starts_with(kTrainGroup) || name == kLogits;
    if (trainers != of_trainer) continue;
    if (option->get_items_expected_max() == 0) {
      // A flag without a value; "false" means that its opposite was given.
      const bool off = option->results().back() == "false";
      words.push_back(off ? "--no-" + name.substr(2) : name);
      continue;
    }
    for (const std::string& value : option->results()) {
      if (value.starts_with("-") && name.starts_with("--")) {
        // Otherwise it would be taken for a flag.
        words.push_back(name + "=" + value);
      } else {
        words.insert(words.end(), {name, value});
      }
    }
  }
  return words;
}

}  // namespace muster::trainflags
