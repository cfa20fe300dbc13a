// Prepares batches ahead of time on threads, and returns them in order.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <torch/torch.h>

#include "programs/train/augment.hpp"

namespace muster::programs {

struct Wanted {
  int64_t epoch = 0;
  std::vector<int64_t> samples;
};

struct Batch {
  torch::Tensor images;  // [N, C, H, W], normalised
  torch::Tensor labels;  // [N]
};

class Loader {
 public:
  // Returns the samples of the next batch, or std::nullopt at the end. Called by one thread at a
  // time.
  using Source = std::function<std::optional<Wanted>()>;

  // `painter` must outlive this object. With 0 threads, each batch is made when it is requested.
  Loader(const Painter& painter, const Augmentation& augmentation, Source source, int threads);
  ~Loader();  // waits for batches that are being made
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Returns the next batch, or std::nullopt at the end. Rethrows the exception of a thread.
  [[nodiscard]] std::optional<Batch> next();

 private:
  struct Made {
    std::optional<Batch> batch;  // none: the end, or an error
    std::exception_ptr error;
  };

  void work();
  [[nodiscard]] Made make(int64_t* number);
  [[nodiscard]] Batch paint(const Wanted& wanted) const;

  const Painter& painter_;
  const Augmentation augmentation_;
  Source source_;
  std::mutex asking_;  // guards source_, asked_ and exhausted_
  int64_t asked_ = 0;
  bool exhausted_ = false;

  std::mutex mutex_;  // guards the state of the queue below
  std::condition_variable room_;
  std::condition_variable ready_;
  std::map<int64_t, Made> made_;
  int64_t started_ = 0;  // batches that threads have begun or finished
  int64_t taken_ = 0;
  int64_t ahead_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::programs
