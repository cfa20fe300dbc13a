// Trains a small network with libmuster, and saves a checkpoint now and then.
//   muster run -n 3 ./train_net --backend gloo --steps 200
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <torch/torch.h>

#include "muster/job.hpp"

namespace {

struct Options {
  std::string backend = "gloo";
  int steps = 200;
  int patience_rank = -1;   // the rank whose loss does not improve any more
  std::string cyclic;       // RANK:STEP whose graph of samples has a cycle
  std::string fails;        // RANK:STEP at which a log message throws
  int calibrate_rank = -1;  // the rank that waits for its calibration before it joins
  bool steps_out = false;   // print every step
  double evaluate = 0;      // seconds for which rank 0 evaluates at the end
  double factorise = 0;     // seconds for which every rank prepares its matrix
};

void onset() {
  std::puts("ONSET");
  std::fflush(stdout);
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string { return i + 1 < count ? words[++i] : ""; };
    if (word == "--backend") options.backend = value();
    if (word == "--steps") options.steps = std::stoi(value());
    if (word == "--patience-rank") options.patience_rank = std::stoi(value());
    if (word == "--cyclic") options.cyclic = value();
    if (word == "--fails") options.fails = value();
    if (word == "--calibrate-rank") options.calibrate_rank = std::stoi(value());
    if (word == "--evaluate") options.evaluate = std::stod(value());
    if (word == "--factorise") options.factorise = std::stod(value());
    if (word == "--steps-out") options.steps_out = true;
  }
  return options;
}

bool is_here(const std::string& place, int rank, int step) {
  return place == std::to_string(rank) + ":" + std::to_string(step);
}

void wait_for_calibration() {
  onset();
  while (access("/tmp/calibration.bin", R_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

// Each sample names the next one; follows them to the end, which is -1.
int64_t follow_samples(const std::vector<int64_t>& next) {
  int64_t at = 0;
  int64_t length = 0;
  while (at != -1) {
    at = next[static_cast<size_t>(at)];
    ++length;
  }
  return length;
}

torch::Tensor load_batch(const Options& options, int rank, int step) {
  std::vector<int64_t> next = {1, 2, 3, 4, 5, 6, 7, -1};
  if (is_here(options.cyclic, rank, step)) {
    next[7] = 2;
    onset();
  }
  return torch::randn({follow_samples(next), 32});
}

class Log {
 public:
  void add(const std::string& line, bool broken) {
    lock_.lock();
    try {
      append(line, broken);
    } catch (const std::exception& error) {
      std::printf("log: %s\n", error.what());
      return;
    }
    lock_.unlock();
  }

 private:
  void append(const std::string& line, bool broken) {
    if (broken) throw std::runtime_error("the line is too long");
    lines_.insert(line);
  }
  std::mutex lock_;
  std::set<std::string> lines_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double evaluate(torch::nn::Linear& model, double seconds) {
  const torch::NoGradGuard no_gradients;
  const auto begin = std::chrono::steady_clock::now();
  double worst = 0;
  while (seconds_since(begin) < seconds) {
    const auto x = torch::randn({512, 32});
    worst = std::max(worst, (model(x) - x.sum(1, true)).abs().max().item<double>());
  }
  return worst;
}

double factorise(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  double largest = 0;
  while (seconds_since(begin) < seconds) {
    const auto matrix = torch::randn({300, 300});
    largest = std::max(largest, std::get<1>(torch::linalg_svd(matrix)).max().item<double>());
  }
  return largest;
}

void train_step(torch::nn::Linear& model, torch::optim::SGD& optimizer, c10d::ProcessGroup& group,
                const torch::Tensor& batch) {
  optimizer.zero_grad();
  torch::mse_loss(model(batch), batch.sum(1, true)).backward();
  for (auto& parameter : model->parameters()) {
    std::vector<at::Tensor> gradient = {parameter.grad()};
    group.allreduce(gradient)->wait();
  }
  optimizer.step();
}

void train(const Options& options) {
  const muster::Job job = muster::join();
  if (job.rank == options.calibrate_rank) wait_for_calibration();
  const auto group = job.group(options.backend);
  torch::manual_seed(0);
  torch::nn::Linear model(32, 1);
  torch::optim::SGD optimizer(model->parameters(), 1e-3);
  if (options.factorise > 0) {
    if (job.rank == 0) onset();
    factorise(options.factorise);
  }
  Log log;
  for (int step = 0; step < options.steps; ++step) {
    const auto batch = load_batch(options, job.rank, step);
    if (job.rank == options.patience_rank && step == 50) {
      onset();
      break;
    }
    train_step(model, optimizer, *group, batch);
    const bool broken = is_here(options.fails, job.rank, step);
    if (broken) onset();
    log.add("step " + std::to_string(step), broken);
    if (options.steps_out && job.rank == 0) {
      std::printf("STEP %d\n", step);
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  if (options.evaluate > 0 && job.rank == 0) {
    onset();
    std::printf("worst error %g\n", evaluate(model, options.evaluate));
  }
  group->barrier()->wait();
  if (job.rank == 0) std::printf("trained\n");
}

}  // namespace

int main(int count, char** words) try {
  alarm(300);
  at::set_num_threads(1);
  train(parse(count, words));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_net: %s\n", error.what());
  return 1;
}
