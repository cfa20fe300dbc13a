// Trains a toy model on all ranks, and resumes from its snapshot when it is started again.
//   muster run -H n[1-3] --nproc-per-node 2 ./toy_ddp <epochs> <save-every>
// The snapshot is the file toy_ddp.snapshot in rank 0's current directory.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include <torch/torch.h>

#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"

namespace {

constexpr const char* kSnapshot = "toy_ddp.snapshot";
constexpr int64_t kSamples = 2048;
constexpr int64_t kFeatures = 20;
constexpr size_t kBatch = 32;

struct Data {
  torch::Tensor x;
  torch::Tensor y;
};

// Every rank makes the same data, and the sampler gives each rank its own part.
Data make_data() {
  torch::manual_seed(0);
  const auto x = torch::rand({kSamples, kFeatures});
  return {x, x.matmul(torch::rand({kFeatures, 1})) + 0.01 * torch::randn({kSamples, 1})};
}

void save(const torch::nn::Linear& model, int64_t epochs_done) {
  torch::serialize::OutputArchive archive;
  model->save(archive);
  archive.write("epochs_done", torch::tensor(epochs_done));
  const std::string unfinished = std::string(kSnapshot) + ".new";
  archive.save_to(unfinished);
  // The new snapshot replaces the old one in a single step, so a crash leaves one of them intact.
  std::filesystem::rename(unfinished, kSnapshot);
}

// Returns the number of completed epochs. Rank 0 reads the snapshot, and DistributedDataParallel
// sends its model to the other ranks.
int64_t load(torch::nn::Linear& model, const muster::Job& job, c10d::ProcessGroup& group) {
  std::vector<torch::Tensor> done = {torch::zeros({1}, torch::kLong)};
  if (job.rank == 0 && std::filesystem::exists(kSnapshot)) {
    torch::serialize::InputArchive archive;
    archive.load_from(kSnapshot);
    model->load(archive);
    archive.read("epochs_done", done[0]);
    std::printf("resuming after epoch %lld\n", static_cast<long long>(done[0].item<int64_t>()));
  }
  group.broadcast(done)->wait();
  return done[0].item<int64_t>();
}

void train(const muster::Job& job, int64_t epochs, int64_t save_every) {
  const auto group = job.group();
  const Data data = make_data();
  torch::nn::Linear model(kFeatures, 1);
  int64_t epoch = load(model, job, *group);
  muster::DistributedDataParallel net(model, group);
  torch::optim::SGD optimizer(model->parameters(), 0.05);
  torch::data::samplers::DistributedRandomSampler sampler(kSamples, static_cast<size_t>(job.size),
                                                          static_cast<size_t>(job.rank));

  torch::Tensor loss;
  for (; epoch < epochs; ++epoch) {
    sampler.set_epoch(static_cast<size_t>(epoch));  // a new order, the same on all ranks
    sampler.reset();
    while (const auto indices = sampler.next(kBatch)) {
      const auto batch = torch::tensor(std::vector<int64_t>(indices->begin(), indices->end()));
      net.zero_grad();
      loss = torch::mse_loss(net(data.x.index_select(0, batch)), data.y.index_select(0, batch));
      loss.backward();
      optimizer.step();
    }
    if (job.rank != 0) continue;
    std::printf("epoch %lld: loss %.4f\n", static_cast<long long>(epoch + 1), loss.item<double>());
    if ((epoch + 1) % save_every == 0) save(model, epoch + 1);
  }
  std::printf("rank %d of %d: weights add up to %.9f\n", job.rank, job.size,
              model->weight.sum().item<double>());
}

}  // namespace

int main(int count, char** words) try {
  const int64_t epochs = count == 3 ? std::atoll(words[1]) : 0;
  const int64_t save_every = count == 3 ? std::atoll(words[2]) : 0;
  if (epochs < 1 || save_every < 1) {
    std::fprintf(stderr, "usage: toy_ddp <epochs> <save-every>\n");
    return 2;
  }
  train(muster::join(), epochs, save_every);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "toy_ddp: %s\n", error.what());
  return 1;
}
