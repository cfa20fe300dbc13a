#include "programs/train/loader.hpp"

namespace muster::programs {

Loader::Loader(const Painter& painter, const Augmentation& augmentation, Source source, int threads)
    : painter_(painter),
      augmentation_(augmentation),
      source_(std::move(source)),
      ahead_(2 * int64_t{threads}) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// An error or the end takes a batch's place in the sequence, so that it is reported in order.
Loader::Made Loader::make(int64_t* number) {
  std::optional<Wanted> wanted;
  try {
    const std::lock_guard lock(asking_);
    *number = asked_++;
    if (!exhausted_) wanted = source_();
    if (!wanted) exhausted_ = true;
  } catch (...) {
    return {.batch = std::nullopt, .error = std::current_exception()};
  }
  if (!wanted) return {};
  try {
    return {.batch = paint(*wanted), .error = nullptr};
  } catch (...) {
    return {.batch = std::nullopt, .error = std::current_exception()};
  }
}

void Loader::work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stopping_ || started_ < taken_ + ahead_; });
      if (stopping_) return;
      ++started_;
    }
    int64_t number = 0;
    Made made = make(&number);
    const bool last = !made.batch;
    {
      const std::lock_guard lock(mutex_);
      made_.emplace(number, std::move(made));
    }
    ready_.notify_all();
    if (last) return;
  }
}

std::optional<Batch> Loader::next() {
  Made made;
  if (threads_.empty()) {
    int64_t number = 0;
    made = make(&number);
  } else {
    std::unique_lock lock(mutex_);
    // At the end, every thread stores an end marker, so this wait finishes.
    ready_.wait(lock, [&] { return made_.contains(taken_); });
    const auto found = made_.find(taken_);
    if (!found->second.batch) {  // the end or an error stays for later calls
      made = found->second;
    } else {
      made = std::move(found->second);
      made_.erase(found);
      ++taken_;
    }
  }
  room_.notify_all();
  if (made.error) std::rethrow_exception(made.error);
  return std::move(made.batch);
}

Batch Loader::paint(const Wanted& wanted) const {
  const ImageSet& set = painter_.set();
  const auto count = static_cast<int64_t>(wanted.samples.size());
  Batch batch{torch::empty({count, set.channels, painter_.height(), painter_.width()}),
              torch::empty({count}, torch::kLong)};
  float* out = batch.images.data_ptr<float>();
  auto* label = batch.labels.data_ptr<int64_t>();
  const int64_t step = set.channels * painter_.height() * painter_.width();
  for (const int64_t sample : wanted.samples) {
    painter_.augmented(sample, augmentation_, wanted.epoch, out);
    out += step;
    *label++ = set.labels[static_cast<size_t>(sample)];
  }
  return batch;
}

}  // namespace muster::programs
