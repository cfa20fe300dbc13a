#include "programs/train/evaluate.hpp"

#include "programs/train/loader.hpp"
#include "programs/train/precision.hpp"

namespace muster::programs {
namespace {

void share_buffers(const Group& group, const Classifier& model) {
  if (group->getSize() == 1) return;
  for (const torch::Tensor& buffer : model.buffers()) {
    std::vector<torch::Tensor> one{buffer.detach()};
    group->broadcast(one)->wait();
  }
}

// Returns a source of this rank's part: the images rank, rank + size, rank + 2 * size and so on.
// Parts may differ by one image, because no image is used twice.
Loader::Source part_of(const Group& group, int64_t images, int64_t batch) {
  return [next = int64_t{group->getRank()}, step = group->getSize(), images,
          batch]() mutable -> std::optional<Wanted> {
    Wanted wanted;
    for (; next < images && static_cast<int64_t>(wanted.samples.size()) < batch; next += step) {
      wanted.samples.push_back(next);
    }
    return wanted.samples.empty() ? std::nullopt : std::optional(std::move(wanted));
  };
}

}  // namespace

Evaluation evaluate(const Group& group, Classifier& model, const Painter& painter,
                    const EvaluationOptions& options) {
  const torch::NoGradGuard no_grad;
  share_buffers(group, model);
  model.eval();
  Loader loader(painter, {}, part_of(group, painter.set().size(), options.batch), options.workers);
  int64_t correct = 0, count = 0;
  double loss = 0;
  while (const auto batch = loader.next()) {
    const Autocast autocast(options.bf16, options.device.type());
    const auto labels = batch->labels.to(options.device);
    const auto logits = model.forward(batch->images.to(options.device)).to(torch::kFloat);
    correct += logits.argmax(1).eq(labels).sum().item<int64_t>();
    count += labels.size(0);
    loss += torch::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
    if (options.logits != nullptr) options.logits->push_back(logits.cpu());
  }
  std::vector<torch::Tensor> counts{torch::tensor({correct, count}, torch::kLong)};
  std::vector<torch::Tensor> losses{torch::full({1}, loss, torch::kDouble)};
  if (group->getSize() > 1) {
    group->allreduce(counts)->wait();
    group->allreduce(losses)->wait();
  }
  Evaluation all{.correct = counts[0][0].item<int64_t>(), .count = counts[0][1].item<int64_t>()};
  all.loss = losses[0].item<double>() / static_cast<double>(std::max<int64_t>(1, all.count));
  return all;
}

}  // namespace muster::programs
