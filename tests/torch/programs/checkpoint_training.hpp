// A small training with checkpoints in one process, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crash_calls.hpp"
#include "muster/checkpoint.hpp"
#include "muster/job.hpp"

namespace muster::test {

namespace fs = std::filesystem;

inline c10::intrusive_ptr<c10d::ProcessGroup> group() {
  static const auto one = join().group("gloo");
  return one;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    torch::set_num_threads(1);
    // Use a folder in memory if possible. Crashes are only simulated, so no real disk is needed,
    // and one would be slow.
    const fs::path base = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string form = (base / "muster-test-checkpoints.XXXXXX").string();
    folder = ::mkdtemp(form.data());
  }
  ~CheckpointTest() override {
    disarm();
    fs::remove_all(folder);
  }
  CheckpointTest(const CheckpointTest&) = delete;
  CheckpointTest& operator=(const CheckpointTest&) = delete;

  CheckpointOptions options(bool asynchronous = false) {
    return {.folder = folder,
            .asynchronous = asynchronous,
            .warn = [this](const std::string& text) { warnings += text + "\n"; }};
  }

  std::string folder;
  std::string warnings;
};

// A small model with a parameter, a buffer and an optimizer's state.
struct Training {
  std::shared_ptr<torch::nn::SequentialImpl> model;
  std::unique_ptr<torch::optim::SGD> optimizer;

  explicit Training(int64_t width = 3) {
    torch::manual_seed(1);
    model = torch::nn::Sequential(torch::nn::Linear(2, width), torch::nn::BatchNorm1d(width)).ptr();
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(),
                                                    torch::optim::SGDOptions(0.1).momentum(0.9));
  }
  void track(Checkpoints& checkpoints) const {
    checkpoints.track("model", model);
    checkpoints.track("optimizer", *optimizer, model);
  }
  // Uses random numbers, so that the tests notice if those are not saved.
  void step() const {
    optimizer->zero_grad();
    model->forward(torch::randn({4, 2})).square().sum().backward();
    optimizer->step();
  }
  [[nodiscard]] std::string bytes() const {
    std::string all;
    const auto add = [&](const torch::Tensor& tensor) {
      all.append(static_cast<const char*>(tensor.contiguous().const_data_ptr()), tensor.nbytes());
    };
    for (const auto& tensor : model->parameters()) add(tensor.detach());
    for (const auto& tensor : model->buffers()) add(tensor);
    return all;
  }
};

inline std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace muster::test
