#include "programs/train/loop.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "base/json.hpp"
#include "muster/checkpoint.hpp"
#include "muster/distributed_data_parallel.hpp"
#include "muster/sampler.hpp"
#include "programs/train/evaluate.hpp"
#include "programs/train/loader.hpp"
#include "programs/train/metrics.hpp"
#include "programs/train/precision.hpp"
#include "programs/train/schedule.hpp"
#include "programs/train/weights.hpp"
#include "torch/exchange.hpp"

namespace muster::programs {
namespace {

using Clock = std::chrono::steady_clock;
using Wrapped = DistributedDataParallel<Classifier>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The options, completed with the recipe's defaults.
struct Settings {
  int64_t epochs, batch, batches_an_epoch, steps;
  bool augment;
  double weight_decay;
  Schedule schedule;
  torch::Device device = torch::kCPU;
};

torch::Device device_for(const TrainOptions& options, const Job& job) {
  const bool wanted =
      options.device == "cuda" || (options.device == "auto" && torch::cuda::is_available());
  if (!wanted) return torch::kCPU;
  if (!torch::cuda::is_available()) {
    throw std::runtime_error(
        "--device cuda: PyTorch sees no CUDA device on this host; use --device cpu");
  }
  const auto devices = static_cast<int>(torch::cuda::device_count());
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(job.local_rank % devices)};
}

Settings settings_for(const TrainOptions& options, const Recipe& recipe, const Job& job,
                      int64_t samples) {
  Settings s{};
  s.epochs = options.epochs.value_or(recipe.epochs);
  s.batch = options.batch_size.value_or(recipe.batch_size);
  if (s.batch < job.size) {
    throw std::runtime_error("--batch-size " + std::to_string(s.batch) +
                             " is for all ranks together and leaves some of the " +
                             std::to_string(job.size) + " ranks without a sample; pass at least " +
                             std::to_string(job.size));
  }
  s.batches_an_epoch = (samples + s.batch - 1) / s.batch;
  s.steps = s.epochs * s.batches_an_epoch;
  s.augment = options.augment.value_or(recipe.augment);
  s.weight_decay = options.weight_decay.value_or(recipe.weight_decay);
  const double scale = options.lr_scaling == "linear" ? static_cast<double>(s.batch) / 256.0 : 1.0;
  const double warmup = options.warmup_epochs.value_or(recipe.warmup_epochs);
  s.schedule = {.kind = options.schedule,
                .peak = options.lr.value_or(recipe.lr) * scale,
                .warmup_steps = static_cast<int64_t>(
                    std::llround(warmup * static_cast<double>(s.batches_an_epoch))),
                .steps = s.steps};
  s.device = device_for(options, job);
  return s;
}

// Trains one job. Constructor and run() are collective.
class Training {
 public:
  Training(const Job& job, const Group& group, const Recipe& recipe, const TrainOptions& options);
  void run();

 private:
  void make_model();
  void make_optimizer();
  void begin_with_weights();
  void resume();
  void refuse_or_set_aside();
  [[nodiscard]] std::string place_of(const Checkpoint& found) const;
  void check_values(const Checkpoint& found) const;
  void begin_metrics();
  [[nodiscard]] torch::Tensor learn_from(const Batch& batch, int64_t from, int64_t count);
  [[nodiscard]] torch::Tensor step(const Batch& batch);
  [[nodiscard]] Loader::Source source();
  void train_steps();
  void after_step(const torch::Tensor& loss);
  void log(const torch::Tensor& loss);
  void evaluate_model(bool to_metrics);
  void save();
  void finish();
  void write_result(bool shared);
  [[nodiscard]] bool first() const { return job_.rank == 0; }
  [[nodiscard]] bool ended() const {
    return step_ >= settings_.steps || (options_.max_steps > 0 && step_ >= options_.max_steps);
  }
  [[nodiscard]] std::string output(const std::string& name) const {
    return options_.output_dir + "/" + name;
  }

  const Job& job_;
  const Group& group_;
  const Recipe& recipe_;
  const TrainOptions& options_;
  Dataset data_;
  Settings settings_{};
  std::shared_ptr<Classifier> model_;
  std::optional<Wrapped> net_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<MetricsFile> metrics_;  // used by rank 0 only, as is status_
  StatusLine status_;
  Evaluation last_evaluation_;
  double best_accuracy_ = 0;
  int64_t step_ = 0;  // completed steps
  int64_t resumed_at_ = 0;
  int64_t saved_at_ = -1;

  // The time spent on some steps, without evaluations and checkpoints.
  struct Spent {
    double all_s = 0;
    double data_s = 0;
    int64_t steps = 0;
    void add(double all, double data) {
      all_s += all;
      data_s += data;
      ++steps;
    }
    [[nodiscard]] double images_per_s(int64_t batch) const {
      return all_s > 0 ? static_cast<double>(steps * batch) / all_s : 0;
    }
    [[nodiscard]] double data_share() const { return all_s > 0 ? data_s / all_s : 0; }
  };
  // window_: the steps since the last printed line. total_: all steps since the start of this
  // process but the first.
  Spent window_, total_;
};

Training::Training(const Job& job, const Group& group, const Recipe& recipe,
                   const TrainOptions& options)
    : job_(job), group_(group), recipe_(recipe), options_(options), status_(!job.told_by.empty()) {
  together(group_, [&] {
    if (options_.dataset_dir.empty()) {
      throw std::runtime_error("--dataset-dir is missing: pass the directory of the data set");
    }
    data_ = recipe_.read(options_.dataset_dir);
    settings_ = settings_for(options_, recipe_, job_, data_.train.size());
    std::filesystem::create_directories(options_.output_dir);
  });
  check_same_files(group_, data_.files);
  make_model();
  make_optimizer();
  resume();
  begin_with_weights();
  net_.emplace(  // also sends rank 0's model to all ranks
      model_, group_,
      DistributedDataParallelOptions{.gradient_as_bucket_view = true, .fixed_buckets = true});
  begin_metrics();
}

void Training::make_model() {
  torch::manual_seed(options_.seed);  // the same initial weights on every rank
  const int64_t size = options_.image_size > 0 ? options_.image_size : data_.train.height;
  together(group_, [&] { model_ = recipe_.make(options_, data_.classes, size); });
  // For dropout, each rank needs a seed of its own.
  torch::manual_seed(options_.seed + 1000003 * (static_cast<uint64_t>(job_.rank) + 1));
  model_->to(settings_.device);
  if (options_.freeze == "backbone") {
    for (auto& parameter : model_->named_parameters()) {
      if (!parameter.key().starts_with(recipe_.head + "."))
        parameter.value().set_requires_grad(false);
    }
  }
}

// Loads the initial weights, unless a checkpoint was found: a checkpoint contains the weights, and
// the file with the initial ones need not exist on this rank's host.
void Training::begin_with_weights() {
  if (options_.weights.empty() || step_ > 0) return;
  together(group_, [&] {
    if (!first()) return;  // the other ranks get rank 0's weights
    if (load_weights(*model_, options_.weights, recipe_.head)) {
      status_.say("muster-train: " + options_.weights + " has a classifier (" + recipe_.head +
                  ") of a different size: it is initialised at random instead");
    }
  });
}

void Training::make_optimizer() {
  std::vector<torch::Tensor> learning;
  for (const torch::Tensor& parameter : model_->parameters()) {
    if (parameter.requires_grad()) learning.push_back(parameter);
  }
  const double lr = settings_.schedule.peak;
  if (options_.optimizer == "sgd") {
    optimizer_ =
        std::make_unique<torch::optim::SGD>(learning, torch::optim::SGDOptions(lr)
                                                          .momentum(options_.momentum)
                                                          .weight_decay(settings_.weight_decay));
  } else {
    optimizer_ = std::make_unique<torch::optim::AdamW>(
        learning, torch::optim::AdamWOptions(lr).weight_decay(settings_.weight_decay));
  }
}

void Training::resume() {
  // While one rank waits for a checkpoint, other ranks may wait for that rank in a collective. So a
  // checkpoint gets at most half of a collective's time-out.
  const auto timeout =
      std::chrono::milliseconds(static_cast<int64_t>(options_.collective_timeout_s * 500));
  checkpoints_.emplace(
      job_, group_,
      CheckpointOptions{.folder = output("checkpoints"),
                        .keep = options_.keep,
                        .asynchronous = !options_.sync_save,
                        .timeout = timeout,
                        .lost_after = std::min(timeout, CheckpointOptions{}.lost_after)});
  checkpoints_->track("model", model_);
  checkpoints_->track("optimizer", *optimizer_, model_);
  refuse_or_set_aside();
  const auto found = checkpoints_->resume();
  if (!found) return;
  check_values(*found);
  step_ = resumed_at_ = saved_at_ = found->step;
  const auto best = found->values.find("best_accuracy");
  if (best != found->values.end()) best_accuracy_ = std::stod(best->second);
  if (!first()) return;
  status_.say("muster-train: continuing after step " + std::to_string(step_) + " of " +
              std::to_string(settings_.steps));
  if (found->missing_on.empty()) return;
  status_.say("muster-train: this checkpoint was on " + found->found_on + " and not on " +
              found->missing_on + ", in " + output("checkpoints") +
              "; to start from the beginning instead, pass --resume fresh");
}

// Handles --resume never and --resume fresh. Does nothing if muster has restarted the run, because
// then the run continues from its own checkpoints.
void Training::refuse_or_set_aside() {
  if (options_.resume == "auto" || job_.attempt > 0) return;
  if (options_.resume == "fresh") {
    const std::string moved = checkpoints_->set_aside();
    if (first() && !moved.empty()) {
      status_.say("muster-train: starting from the beginning; old checkpoints were moved to\n" +
                  moved);
    }
    return;
  }
  if (const auto found = checkpoints_->newest()) {
    throw AgreedError("--resume never: there is " + place_of(*found) +
                      "; pass another --output-dir, or --resume fresh to move old checkpoints "
                      "aside and start from the beginning");
  }
}

// Returns, for example, "a checkpoint of step 40 in output/checkpoints on n2, n3".
std::string Training::place_of(const Checkpoint& found) const {
  return "a checkpoint of step " + std::to_string(found.step) + " in " + output("checkpoints") +
         (found.found_on.empty() ? "" : " on " + found.found_on);
}

CheckpointValues values_of(const std::string& model, const TrainOptions& options,
                           const Settings& settings, const Dataset& data) {
  std::string files;
  for (const DataFile& file : data.files) files += file.name + " " + file.hash + "; ";
  return {{"model", model},
          {"seed", std::to_string(options.seed)},
          {"global_batch", std::to_string(settings.batch)},
          {"data", files}};
}

// Throws if a value that must not change within a job differs from the checkpoint's.
void Training::check_values(const Checkpoint& found) const {
  const std::map<std::string, std::string> flags = {{"model", "model"},
                                                    {"seed", "--seed"},
                                                    {"global_batch", "--batch-size"},
                                                    {"data", "data set"}};
  for (const auto& [name, now] : values_of(recipe_.name, options_, settings_, data_)) {
    const auto then = found.values.find(name);
    if (then == found.values.end() || then->second == now) continue;
    throw AgreedError("there is " + place_of(found) + ", from a job with a different " +
                      flags.at(name) + ": " + then->second + ", and now " + now +
                      ". To continue that job, use the same value. To start from the beginning, "
                      "pass another --output-dir, or --resume fresh");
  }
}

void Training::begin_metrics() {
  together(group_, [&] {
    if (!first()) return;
    metrics_.emplace(output("metrics.jsonl"), step_);
    nlohmann::ordered_json start = {{"event", "start"},
                                    {"model", recipe_.name},
                                    {"data", data_.name},
                                    {"ranks", job_.size},
                                    {"attempt", job_.attempt},
                                    {"resumed_at", step_},
                                    {"epochs", settings_.epochs},
                                    {"batch_size", settings_.batch},
                                    {"seed", options_.seed},
                                    {"train_images", data_.train.size()},
                                    {"test_images", data_.test.size()}};
    for (const DataFile& file : data_.files) start["files"][file.name] = file.hash;
    metrics_->write(json_text(start));
  });
}

// Returns a source of this rank's part of each remaining batch, in all epochs.
Loader::Source Training::source() {
  auto sampler = std::make_shared<BatchSampler>(SamplerOptions{.samples = data_.train.size(),
                                                               .global_batch = settings_.batch,
                                                               .rank = job_.rank,
                                                               .ranks = job_.size,
                                                               .shuffle = true,
                                                               .seed = options_.seed});
  sampler->seek({step_ / settings_.batches_an_epoch, step_ % settings_.batches_an_epoch});
  return [sampler, epochs = settings_.epochs]() -> std::optional<Wanted> {
    while (sampler->position().epoch < epochs) {
      const int64_t epoch = sampler->position().epoch;
      if (auto samples = sampler->next()) return Wanted{epoch, *std::move(samples)};
    }
    return std::nullopt;
  };
}

// Runs the forward and backward pass for some of this rank's samples, and returns their weighted
// loss. The weights are such that the sum over all parts and ranks, which DistributedDataParallel
// divides by the number of ranks, is the mean over the batch.
torch::Tensor Training::learn_from(const Batch& batch, int64_t from, int64_t count) {
  const auto images = batch.images.narrow(0, from, count).to(settings_.device);
  const auto labels = batch.labels.narrow(0, from, count).to(settings_.device);
  torch::Tensor loss;
  {
    const Autocast autocast(options_.bf16, settings_.device.type());
    loss = torch::nn::functional::cross_entropy((*net_)(images), labels);
  }
  const double weight =
      static_cast<double>(count * job_.size) / static_cast<double>(settings_.batch);
  if (weight != 1) loss = loss * weight;
  loss.backward();
  return loss.detach();
}

// Updates the weights once. The mean of the returned loss over all ranks is the batch's loss.
torch::Tensor Training::step(const Batch& batch) {
  const int64_t own = batch.labels.size(0);
  const int64_t parts = std::min(options_.accumulate, own);
  net_->zero_grad();
  torch::Tensor loss;
  int64_t from = 0;
  for (int64_t part = 1; part < parts; ++part) {
    const auto silent = net_->no_sync();
    const int64_t end = own * part / parts;
    const torch::Tensor one = learn_from(batch, from, end - from);
    loss = loss.defined() ? loss + one : one;
    from = end;
  }
  const torch::Tensor last = learn_from(batch, from, own - from);
  for (auto& group : optimizer_->param_groups()) {
    group.options().set_lr(learning_rate(settings_.schedule, step_));
  }
  optimizer_->step();
  return loss.defined() ? loss + last : last;
}

void begin_training(Classifier& model, bool frozen) {
  model.train();
  if (!frozen) return;
  for (const auto& module : model.modules()) {
    if (module->as<torch::nn::BatchNorm2d>() != nullptr) module->eval();
  }
}

void Training::train_steps() {
  const Painter painter(data_.train, recipe_.normalisation, options_.image_size);
  const Augmentation none;
  const Augmentation drawn{.shift = recipe_.shift, .mirror = recipe_.mirror, .seed = options_.seed};
  Loader loader(painter, settings_.augment ? drawn : none, source(), options_.workers);
  const bool frozen = options_.freeze == "backbone";
  begin_training(*model_, frozen);
  while (!ended()) {
    const auto start = Clock::now();
    const auto batch = loader.next();
    const double waited = seconds_since(start);
    if (!batch) break;
    const torch::Tensor loss = step(*batch);
    ++step_;
    const double spent = seconds_since(start);
    window_.add(spent, waited);
    if (step_ > resumed_at_ + 1) total_.add(spent, waited);
    after_step(loss);
    if (!model_->is_training()) begin_training(*model_, frozen);
  }
}

void Training::after_step(const torch::Tensor& loss) {
  if (step_ % options_.log_every == 0 || ended()) log(loss);
  const bool epoch_ended = step_ % settings_.batches_an_epoch == 0;
  if (epoch_ended || ended()) evaluate_model(true);
  const bool due = options_.save_every > 0 ? step_ % options_.save_every == 0 : epoch_ended;
  if (due || ended()) save();
}

void Training::log(const torch::Tensor& loss) {
  std::vector<torch::Tensor> mean{loss.to(torch::kFloat).cpu().reshape({1})};
  if (job_.size > 1) {
    group_->allreduce(mean)->wait();
    mean[0] /= job_.size;
  }
  if (first()) {
    const StepMetrics now{.step = step_,
                          .steps = settings_.steps,
                          .epoch = (step_ - 1) / settings_.batches_an_epoch + 1,
                          .epochs = settings_.epochs,
                          .loss = mean[0].item<float>(),
                          .lr = learning_rate(settings_.schedule, step_ - 1),
                          .images_per_s = window_.images_per_s(settings_.batch),
                          .data_share = window_.data_share(),
                          .left_s = window_.all_s / static_cast<double>(window_.steps) *
                                    static_cast<double>(settings_.steps - step_)};
    metrics_->write(now);
    status_.show(now);
  }
  window_ = {};
}

void Training::evaluate_model(bool to_metrics) {
  const Painter painter(data_.test, recipe_.normalisation, options_.image_size);
  std::vector<torch::Tensor> logits;
  const bool kept = first() && !options_.logits.empty();
  last_evaluation_ = evaluate(group_, *model_, painter,
                              {.workers = options_.workers,
                               .bf16 = options_.bf16,
                               .device = settings_.device,
                               .logits = kept ? &logits : nullptr});
  best_accuracy_ = std::max(best_accuracy_, last_evaluation_.accuracy());
  if (!first()) return;
  if (kept) save_safetensors(options_.logits, {{"logits", torch::cat(logits)}});
  status_.accuracy(last_evaluation_.accuracy());
  const int64_t epoch = step_ == 0 ? 0 : (step_ - 1) / settings_.batches_an_epoch + 1;
  char text[160];
  std::snprintf(text, sizeof text,
                "step %lld: %lld of %lld held-out images correct, %.2f %%, loss %.4f",
                static_cast<long long>(step_), static_cast<long long>(last_evaluation_.correct),
                static_cast<long long>(last_evaluation_.count), 100 * last_evaluation_.accuracy(),
                last_evaluation_.loss);
  status_.say(text);
  if (!to_metrics) return;
  metrics_->write(EvaluationMetrics{.step = step_,
                                    .epoch = epoch,
                                    .accuracy = last_evaluation_.accuracy(),
                                    .correct = last_evaluation_.correct,
                                    .count = last_evaluation_.count,
                                    .loss = last_evaluation_.loss});
}

void Training::save() {
  CheckpointValues values = values_of(recipe_.name, options_, settings_, data_);
  values["epoch"] = std::to_string(step_ / settings_.batches_an_epoch);
  values["batch"] = std::to_string(step_ % settings_.batches_an_epoch);
  values["best_accuracy"] = std::to_string(best_accuracy_);
  checkpoints_->save({.step = step_, .values = values});
  saved_at_ = step_;
}

void Training::run() {
  if (first()) {
    char text[256];
    std::snprintf(
        text, sizeof text,
        "muster-train: %s on %s: %lld images, %lld held out; %d rank%s, batch %lld, %lld "
        "epoch%s of %lld steps",
        recipe_.name.c_str(), data_.name.c_str(), static_cast<long long>(data_.train.size()),
        static_cast<long long>(data_.test.size()), job_.size, job_.size == 1 ? "" : "s",
        static_cast<long long>(settings_.batch), static_cast<long long>(settings_.epochs),
        settings_.epochs == 1 ? "" : "s", static_cast<long long>(settings_.batches_an_epoch));
    status_.say(text);
  }
  const bool nothing_to_do = ended();
  train_steps();
  if (nothing_to_do) evaluate_model(step_ == 0);
  finish();
}

void Training::finish() {
  (void)checkpoints_->finish();  // it prints a warning if the checkpoint could not be saved
  together(group_, [&] {
    if (!first()) return;
    export_weights(*model_, output("model.safetensors"), recipe_.name);
    std::ofstream plot(output("training.svg"));
    plot << plot_svg(recipe_.name + " on " + data_.name, read_curves(output("metrics.jsonl")));
    plot.close();
    if (!plot) throw std::runtime_error("cannot write " + output("training.svg"));
    write_result(checkpoints_->shared());
  });
}

void Training::write_result(bool shared) {
  const nlohmann::ordered_json result = {{"model", recipe_.name},
                                         {"accuracy", last_evaluation_.accuracy()},
                                         {"correct", last_evaluation_.correct},
                                         {"count", last_evaluation_.count},
                                         {"best_accuracy", best_accuracy_},
                                         {"steps", step_},
                                         {"epochs", settings_.epochs},
                                         {"ranks", job_.size},
                                         {"images_per_s", total_.images_per_s(settings_.batch)},
                                         {"data_share", total_.data_share()},
                                         {"restarts", job_.attempt},
                                         {"resumed_at", resumed_at_}};
  std::ofstream file(output("result.json"));
  file << json_text(result, 2) << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + output("result.json"));
  status_.say(
      "muster-train: model.safetensors, training.svg, metrics.jsonl and result.json are in " +
      options_.output_dir + " on " + own_host() +
      (job_.size == 1 || shared ? "" : " only, because the hosts do not share this directory"));
}

}  // namespace

void train(const Job& job, const Group& group, const Recipe& recipe, const TrainOptions& options) {
  Training(job, group, recipe, options).run();
}

}  // namespace muster::programs
