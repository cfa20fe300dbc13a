// A training with several ranks that continues from its checkpoints. The last lines of output are
// the same on every rank, however often it was interrupted.
//   checkpoint_probe FOLDER STEPS [backend] [width]
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <sys/resource.h>
#include <torch/torch.h>

#include "muster/checkpoint.hpp"
#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"
#include "muster/sampler.hpp"

namespace {

constexpr int64_t kSamples = 240;
constexpr int64_t kBatch = 24;
constexpr int64_t kSaveEvery = 5;

// Implements FULL_FROM=STEP and FULL_RANK=RANK: from that step on, that rank's disk is full.
void fill_disk(int rank, int64_t step) {
  const char* from = std::getenv("FULL_FROM");
  const char* who = std::getenv("FULL_RANK");
  if (from == nullptr || who == nullptr || rank != std::atoi(who) || step != std::atoll(from)) {
    return;
  }
  (void)std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{.rlim_cur = 16, .rlim_max = 16};
  if (::setrlimit(RLIMIT_FSIZE, &none) != 0) throw std::runtime_error("setrlimit");
}

// Returns a hash of the bits of the weights.
uint64_t fingerprint(const torch::nn::Module& model) {
  uint64_t value = 14695981039346656037U;
  for (const auto& tensor : model.parameters()) {
    const torch::Tensor bytes = tensor.detach().contiguous().view(torch::kByte).flatten();
    for (int64_t i = 0; i < bytes.numel(); ++i) {
      value = (value ^ bytes.const_data_ptr<uint8_t>()[i]) * 1099511628211U;
    }
  }
  return value;
}

void train(const std::string& folder, int64_t steps, const std::string& backend, int64_t width) {
  const muster::Job job = muster::join();
  const auto group = job.group(backend, {.timeout = std::chrono::seconds(60)});
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const auto x = torch::rand({kSamples, 8});
  torch::nn::Sequential model(torch::nn::Linear(8, width), torch::nn::BatchNorm1d(width),
                              torch::nn::ReLU(), torch::nn::Dropout(0.3),
                              torch::nn::Linear(width, 1));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::manual_seed(static_cast<uint64_t>(100 + job.rank));  // for dropout
  // `shard_bytes` is small, so that several ranks write.
  muster::Checkpoints checkpoints(job, group, {.folder = folder, .shard_bytes = 4096});
  checkpoints.track("model", model.ptr());
  checkpoints.track("optimizer", optimizer, model.ptr());
  muster::BatchSampler sampler(
      {.samples = kSamples, .global_batch = kBatch, .rank = job.rank, .ranks = job.size});
  int64_t step = 0;
  if (const auto found = checkpoints.resume()) {
    step = found->step;
    sampler.seek({.epoch = std::stoll(found->values.at("epoch")),
                  .batch = std::stoll(found->values.at("batch"))});
  }
  std::printf("rank %d begins after step %lld: %s\n", job.rank, static_cast<long long>(step),
              checkpoints.describe().c_str());
  muster::DistributedDataParallel net(model, group, {.fixed_buckets = true});
  while (step < steps) {
    const auto indices = sampler.next();
    if (!indices) continue;
    const auto batch = x.index_select(0, torch::tensor(*indices));
    net.zero_grad();
    torch::mse_loss(net(batch), batch.sum(1, true)).backward();
    optimizer.step();
    fill_disk(job.rank, ++step);
    if (step % kSaveEvery != 0) continue;
    checkpoints.save({.step = step,
                      .values = {{"epoch", std::to_string(sampler.position().epoch)},
                                 {"batch", std::to_string(sampler.position().batch)}}});
    const char* full = std::getenv("FULL_FROM");
    if (full != nullptr && step < std::atoll(full)) (void)checkpoints.finish();
  }
  const bool kept = checkpoints.finish();
  std::printf("rank %d ends at step %lld with %016llx, %s\n", job.rank,
              static_cast<long long>(step), static_cast<unsigned long long>(fingerprint(*model)),
              kept ? "kept" : "not kept");
}

}  // namespace

int main(int count, char** words) try {
  if (count < 3)
    throw std::invalid_argument("usage: checkpoint_probe FOLDER STEPS [backend] [width]");
  train(words[1], std::atoll(words[2]), count > 3 ? words[3] : "auto",
        count > 4 ? std::atoll(words[4]) : 32);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "checkpoint_probe: %s\n", error.what());
  return 1;
}
