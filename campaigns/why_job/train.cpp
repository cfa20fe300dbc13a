// Does the same as train.py with --steps and --until, but with libmuster:
//   muster run -n 2 ./train BACKEND PAUSE_MS STEPS|FILE
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <torch/torch.h>
#include <unistd.h>

#include "muster/job.hpp"

namespace {

constexpr int kBlock = 20;  // steps between two checks of the clock

// Returns whether the training is over. Rank 0 decides.
bool is_over(c10d::ProcessGroup& group, const std::string& until, int steps) {
  const bool is_count = until.find_first_not_of("0123456789") == std::string::npos;
  const bool over = is_count ? steps >= std::stoi(until) : access(until.c_str(), F_OK) == 0;
  std::vector<at::Tensor> answer = {torch::tensor({over ? 1 : 0}, torch::kInt)};
  group.broadcast(answer)->wait();
  return answer[0].item<int>() != 0;
}

// Returns the FNV-1a hash of the parameters' bytes.
std::uint64_t hash_of(const torch::nn::Sequential& model) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const at::Tensor& parameter : model->parameters()) {
    const at::Tensor whole = parameter.detach().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(whole.const_data_ptr());
    for (std::size_t i = 0; i < whole.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  }
  return hash;
}

void train_step(torch::nn::Sequential& model, torch::optim::SGD& optimizer,
                c10d::ProcessGroup& group, int pause_ms) {
  optimizer.zero_grad();
  const at::Tensor x = torch::randn({32, 64});
  const at::Tensor wanted = x.narrow(1, 0, 10).argmax(1);
  torch::nn::functional::cross_entropy(model->forward(x), wanted).backward();
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  for (auto& parameter : model->parameters()) {
    std::vector<at::Tensor> gradient = {parameter.grad()};
    group.allreduce(gradient)->wait();
  }
  optimizer.step();
}

void train(const std::string& backend, int pause_ms, const std::string& until) {
  const muster::Job job = muster::join();
  const auto group = job.group(backend);
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(64, 256), torch::nn::ReLU(),
                              torch::nn::Dropout(0.1), torch::nn::Linear(256, 256),
                              torch::nn::ReLU(), torch::nn::Linear(256, 10));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  torch::manual_seed(static_cast<std::uint64_t>(100 + job.rank));
  int steps = 0;
  while (!is_over(*group, until, steps)) {
    for (int i = 0; i < kBlock; ++i) train_step(model, optimizer, *group, pause_ms);
    steps += kBlock;
    if (job.rank == 0 && steps == kBlock) {
      std::puts("READY");
      std::fflush(stdout);
    }
  }
  std::printf("WEIGHTS %d %016llx\n", steps, static_cast<unsigned long long>(hash_of(model)));
  group->barrier()->wait();
}

}  // namespace

int main(int count, char** words) try {
  if (count != 4) {
    std::fprintf(stderr, "usage: train BACKEND PAUSE_MS STEPS|FILE\n");
    return 2;
  }
  alarm(3 * 3600);
  at::set_num_threads(1);
  train(words[1], std::stoi(words[2]), words[3]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train: %s\n", error.what());
  return 1;
}
