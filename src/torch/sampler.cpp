#include "muster/sampler.hpp"

#include <numeric>
#include <stdexcept>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

namespace muster {

BatchSampler::BatchSampler(const SamplerOptions& options) : options_(options) {
  if (options.samples < 1) throw std::invalid_argument("BatchSampler: the data set is empty");
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    throw std::invalid_argument("BatchSampler: there is no rank " + std::to_string(options.rank) +
                                " of " + std::to_string(options.ranks));
  }
  if (options.global_batch < options.ranks) {
    throw std::invalid_argument("BatchSampler: a batch of " + std::to_string(options.global_batch) +
                                " leaves some of " + std::to_string(options.ranks) +
                                " ranks without a sample");
  }
}

int64_t BatchSampler::batches_an_epoch() const {
  return (options_.samples + options_.global_batch - 1) / options_.global_batch;
}

void BatchSampler::seek(Position position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_an_epoch()) {
    throw std::invalid_argument("BatchSampler: there is no batch " +
                                std::to_string(position.batch) + " in an epoch of " +
                                std::to_string(batches_an_epoch()));
  }
  position_ = position;
}

std::optional<std::vector<int64_t>> BatchSampler::next() {
  if (position_.batch >= batches_an_epoch()) {
    position_ = {.epoch = position_.epoch + 1, .batch = 0};
    return std::nullopt;
  }
  if (order_epoch_ != position_.epoch) {
    order_.resize(static_cast<size_t>(options_.samples));
    if (options_.shuffle) {
      auto generator =
          at::detail::createCPUGenerator(options_.seed + static_cast<uint64_t>(position_.epoch));
      const auto shuffled = torch::randperm(options_.samples, generator, torch::kLong);
      std::copy_n(shuffled.const_data_ptr<int64_t>(), options_.samples, order_.begin());
    } else {
      std::iota(order_.begin(), order_.end(), 0);
    }
    order_epoch_ = position_.epoch;
  }
  std::vector<int64_t> mine;
  const int64_t first = position_.batch * options_.global_batch;
  for (int64_t i = options_.rank; i < options_.global_batch; i += options_.ranks) {
    mine.push_back(order_[static_cast<size_t>((first + i) % options_.samples)]);
  }
  ++position_.batch;
  return mine;
}

}  // namespace muster
