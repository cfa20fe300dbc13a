#include "torch/gradient_hooks.hpp"

#include <utility>

namespace muster {
namespace {

using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;
using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

class FunctionHook : public c10d::CommHookInterface {
 public:
  explicit FunctionHook(GradientHook run) : run_(std::move(run)) {}

  FuturePtr runHook(c10d::GradBucket& bucket) override { return run_(bucket); }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return c10d::detail::parseCppCommHookResult(result);
  }

 private:
  GradientHook run_;
};

FuturePtr completed(const at::Tensor& tensor) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(
      c10::TensorType::get(),
      tensor.is_cpu() ? std::vector<c10::Device>{} : std::vector<c10::Device>{tensor.device()});
  future->markCompleted(tensor);
  return future;
}

// Sums in place. The future's value is the tensor, or a list with just that tensor.
FuturePtr sum(const GroupPtr& group, const at::Tensor& tensor, bool inline_here) {
  std::vector<at::Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.asyncOp = !inline_here;
  const auto work = group->allreduce(tensors, options);
  if (!inline_here) return work->getFuture();
  if (work) work->wait();
  return completed(tensor);
}

FuturePtr decompressed(const FuturePtr& future, const at::Tensor& into) {
  return future->then(
      [into](c10::ivalue::Future& sum) {
        into.copy_(c10d::detail::parseCppCommHookResult(sum.value()));
        return c10::IValue(into);
      },
      c10::TensorType::get());
}

// Averages like the Reducer itself, except that the calling thread reduces the last bucket
// (AllreduceOptions::asyncOp is false), because the backward pass would only wait for it.
CommHook average_hook(GroupPtr group, std::function<Division()> division) {
  return std::make_unique<FunctionHook>(
      [group = std::move(group), division = std::move(division)](c10d::GradBucket& bucket) {
        const auto [divisor, by_reciprocal] = division();
        at::Tensor& buffer = bucket.getBufferRef();
        if (divisor > 1 && by_reciprocal) buffer.mul_(1.0 / divisor);
        if (divisor > 1 && !by_reciprocal) buffer.div_(divisor);
        return sum(group, buffer, bucket.isLast());
      });
}

// Averages gradients after rounding them to `type`. `inline_last`: the calling thread reduces the
// last bucket, as in average_hook.
CommHook compressing_hook(GroupPtr group, std::function<Division()> division, at::ScalarType type,
                          bool inline_last) {
  return std::make_unique<FunctionHook>([group = std::move(group), division = std::move(division),
                                         type, inline_last](c10d::GradBucket& bucket) {
    // Never multiplies by the reciprocal. PyTorch's hooks in Python always divide too.
    const at::Tensor compressed = bucket.getBuffer().to(type).div_(division().divisor);
    return decompressed(sum(group, compressed, inline_last && bucket.isLast()), bucket.getBuffer());
  });
}

}  // namespace

CommHook hook_for(const DistributedDataParallelOptions& options, GroupPtr group,
                  std::function<Division()> division) {
  const bool over_mpi = group->getBackendName() == "mpi";
  if (options.hook) return std::make_unique<FunctionHook>(options.hook);
  if (options.compression != Compression::none) {
    const auto type = options.compression == Compression::fp16 ? at::kHalf : at::kBFloat16;
    return compressing_hook(std::move(group), std::move(division), type, over_mpi);
  }
  if (over_mpi) return average_hook(std::move(group), std::move(division));
  return nullptr;
}

}  // namespace muster
