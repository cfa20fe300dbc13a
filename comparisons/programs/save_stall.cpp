// Measures how long a step waits for a save of ResNet-18 with its momentum, alternately
// asynchronous and synchronous.
//   save_stall FOLDER COUNT     one JSON object on standard output
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>

#include <torch/torch.h>

#include "muster/checkpoint.hpp"
#include "muster/job.hpp"
#include "programs/resnet.hpp"

namespace {

std::string list(const std::vector<double>& figures) {
  std::string text;
  for (const double figure : figures) text += (text.empty() ? "" : ", ") + std::to_string(figure);
  return "[" + text + "]";
}

void measure(const std::string& folder, int count) {
  const muster::Job job = muster::join();
  const auto group = job.group("gloo");
  torch::set_num_threads(1);
  const auto model = std::make_shared<muster::programs::ResNet18>(10);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  model->forward(torch::rand({2, 3, 32, 32})).sum().backward();
  optimizer.step();
  std::vector<double> stalls[2];
  int64_t step = 0, bytes = 0;
  muster::Checkpoints asynchronous(job, group, {.folder = folder + "/asynchronous"});
  muster::Checkpoints synchronous(job, group,
                                  {.folder = folder + "/synchronous", .asynchronous = false});
  for (muster::Checkpoints* one : {&asynchronous, &synchronous}) {
    one->track("model", model);
    one->track("optimizer", optimizer, model);
    one->save({.step = ++step});  // allocates the memory for the copies
    if (!one->finish()) throw std::runtime_error("not kept");
  }
  for (int i = 0; i < count; ++i) {
    for (muster::Checkpoints* one : {&asynchronous, &synchronous}) {
      one->save({.step = ++step});
      stalls[one == &synchronous].push_back(one->last_cost().stall_s);
      bytes = one->last_cost().bytes;
      if (!one->finish()) throw std::runtime_error("not kept");
    }
  }
  std::printf("{\"asynchronous\": %s, \"synchronous\": %s, \"bytes\": %lld}\n",
              list(stalls[0]).c_str(), list(stalls[1]).c_str(), static_cast<long long>(bytes));
}

}  // namespace

int main(int count, char** words) try {
  if (count != 3) throw std::invalid_argument("usage: save_stall FOLDER COUNT");
  measure(words[1], std::atoi(words[2]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "save_stall: %s\n", error.what());
  return 1;
}
