// The same model on every rank, its gradients averaged while the backward pass still runs: what
// torch.nn.parallel.DistributedDataParallel is to Python. docs/libmuster.md has an example.
//
// Construction, calls, `join` and `clip_grad_norm` are collective: every rank of the group does
// them in the same order. One thread at a time.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/torch.h>

#include "muster/api.hpp"

namespace muster {

// What travels between the ranks; gradients keep their own type.
enum class Compression { none, fp16, bf16 };

// Called once a bucket, as soon as the gradients in it are there. The future holds one tensor of
// the bucket's shape: what the gradients become. The division by the number of ranks is the hook's.
using GradientHook =
    std::function<c10::intrusive_ptr<c10::ivalue::Future>(c10d::GradBucket& bucket)>;

struct DistributedDataParallelOptions {
  // Parameters may have no part in the output, and others in each step. Costs a walk over the graph
  // a step.
  bool find_unused_parameters = false;
  // Every step uses the same parameters in the same order; then unused ones cost nothing.
  bool static_graph = false;
  // Gradients lie in the buckets themselves: a copy less of them all. See zero_grad.
  bool gradient_as_bucket_view = false;
  // Rank 0's buffers for all: at the start, and before each forward that follows a synchronised
  // one.
  bool broadcast_buffers = true;
  // Buckets: sooner under way when small, fewer messages when large. Bytes.
  int64_t first_bucket_bytes = 1 << 20;
  int64_t bucket_bytes = 25 << 20;
  // Buckets from the last parameter to the first, from the first step on, and not in the order that
  // the first step shows. Sums then round alike in a job that goes on from a checkpoint and in one
  // that was never interrupted.
  bool fixed_buckets = false;
  Compression compression = Compression::none;
  GradientHook hook = nullptr;  // instead of the average; excludes compression
  // For models on the processor, process-wide: glibc keeps up to 1 GiB that tensors have freed,
  // which it would give to the kernel and take back, page by page, in every step. Settings of
  // malloc in the environment count more.
  bool keep_freed_memory = true;
};

struct JoinOptions {
  // Gradients are divided by the size of the group, or by how many ranks still have input.
  bool divide_by_initial_world_size = true;
  // The first rank that runs out ends it for all, with an exception. Needed where the model has
  // collectives of its own, as SyncBatchNorm has.
  bool throw_on_early_termination = false;
};

// The tensors in what a model returns. For a type of your own, write beside it
//   void collect_tensors(MyOutput& output, muster::OutputTensors& found) {
//     collect_tensors(output.logits, found); ...
//   }
class OutputTensors {
 public:
  void add(torch::Tensor& tensor) { found_.push_back(&tensor); }
  [[nodiscard]] const std::vector<torch::Tensor*>& found() const { return found_; }

 private:
  std::vector<torch::Tensor*> found_;
};

inline void collect_tensors(torch::Tensor& tensor, OutputTensors& found) {
  found.add(tensor);
}
// Figures and words beside the tensors.
template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::convertible_to<T, std::string_view>
void collect_tensors(T& /*value*/, OutputTensors& /*found*/) {}
inline void collect_tensors(std::vector<bool>& /*values*/, OutputTensors& /*found*/) {}
template <class T>
void collect_tensors(std::vector<T>& values, OutputTensors& found) {
  for (T& value : values) collect_tensors(value, found);
}
template <class T, size_t N>
void collect_tensors(std::array<T, N>& values, OutputTensors& found) {
  for (T& value : values) collect_tensors(value, found);
}
template <class Key, class T>
void collect_tensors(std::map<Key, T>& values, OutputTensors& found) {
  for (auto& [key, value] : values) collect_tensors(value, found);
}
template <class T>
void collect_tensors(std::optional<T>& value, OutputTensors& found) {
  if (value) collect_tensors(*value, found);
}
template <class First, class Second>
void collect_tensors(std::pair<First, Second>& values, OutputTensors& found) {
  collect_tensors(values.first, found);
  collect_tensors(values.second, found);
}
template <class... T>
void collect_tensors(std::tuple<T...>& values, OutputTensors& found) {
  std::apply([&](T&... each) { (collect_tensors(each, found), ...); }, values);
}

// All of it that does not depend on the model's type.
class MUSTER_API DataParallelCore {
 public:
  DataParallelCore(std::shared_ptr<torch::nn::Module> module,
                   c10::intrusive_ptr<c10d::ProcessGroup> group,
                   const DistributedDataParallelOptions& options);

  void before_forward();
  // Whether after_forward needs the tensors of the output.
  [[nodiscard]] bool looks_at_output() const;
  // Replaces the tensors by ones that tell when the backward pass begins.
  void after_forward(const std::vector<torch::Tensor*>& output);

  // Returns what was set before.
  bool set_gradient_sync(bool wanted);
  void zero_grad(bool set_to_none);
  double clip_grad_norm(double max_norm, double norm_type);
  void join(const std::function<void()>& loop, const JoinOptions& options);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class Module>
struct ModuleOf {
  using type = Module;
};
template <class Holder>
  requires std::derived_from<Holder, torch::nn::ModuleHolder<typename Holder::ContainedType>>
struct ModuleOf<Holder> {
  using type = typename Holder::ContainedType;
};

// `Module` is a torch::nn::Module, or a holder made by TORCH_MODULE.
template <class Module>
class DistributedDataParallel {
 public:
  using Impl = typename ModuleOf<Module>::type;

  // Checks that the model has the same parameters on all ranks (throws on all of them and says what
  // differs and where), then gives all of them rank 0's values. Parameters must not be added,
  // removed or frozen afterwards.
  DistributedDataParallel(std::shared_ptr<Impl> module,
                          c10::intrusive_ptr<c10d::ProcessGroup> group,
                          const DistributedDataParallelOptions& options = {})
      : module_(std::move(module)), core_(module_, std::move(group), options) {}

  DistributedDataParallel(const torch::nn::ModuleHolder<Impl>& module,
                          c10::intrusive_ptr<c10d::ProcessGroup> group,
                          const DistributedDataParallelOptions& options = {})
      : DistributedDataParallel(module.ptr(), std::move(group), options) {}

  // The model's forward. The backward pass over what it returns averages the gradients.
  template <class... Args>
  auto operator()(Args&&... args) {
    core_.before_forward();
    auto output = module_->forward(std::forward<Args>(args)...);
    OutputTensors found;
    if (core_.looks_at_output()) {
      if constexpr (requires { collect_tensors(output, found); }) {
        collect_tensors(output, found);
      } else {
        throw std::invalid_argument(
            std::string("DistributedDataParallel cannot see the tensors in what the model returns "
                        "(") +
            typeid(output).name() +
            "), which find_unused_parameters and static_graph need: write collect_tensors for that "
            "type, or return tensors, a tuple or a vector of them");
      }
    }
    core_.after_forward(found.found());
    return output;
  }

  // While it lives, backward passes add to this rank's gradients and send nothing; the first pass
  // after it averages the sum. The forward call must lie within it as well.
  class [[nodiscard]] NoSync {
   public:
    explicit NoSync(const DataParallelCore& core)
        : core_(core), before_(core_.set_gradient_sync(false)) {}
    ~NoSync() { core_.set_gradient_sync(before_); }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DataParallelCore core_;  // the wrapper may be moved meanwhile
    bool before_;
  };
  NoSync no_sync() { return NoSync(core_); }

  // Use this and not the optimizer's, which throws when gradients are views of buckets. To none, as
  // Python's default: least memory. In place: the views stay, and nothing is copied into the
  // buckets.
  void zero_grad(bool set_to_none = true) { core_.zero_grad(set_to_none); }

  // Scales the gradients down to a norm of at most `max_norm` over all of them together, and
  // returns the norm that they had. All ranks scale by rank 0's figure: different processors round
  // differently, and weights must not drift apart.
  double clip_grad_norm(double max_norm, double norm_type = 2.0) {
    return core_.clip_grad_norm(max_norm, norm_type);
  }

  // Runs `loop`, whose number of steps may differ between ranks: who is through takes part in the
  // others' collectives with zeros. In the end all have the model of a rank that was through last.
  void join(const std::function<void()>& loop, const JoinOptions& options = {}) {
    core_.join(loop, options);
  }

  [[nodiscard]] const std::shared_ptr<Impl>& module() const { return module_; }
  Impl* operator->() const { return module_.get(); }
  [[nodiscard]] std::vector<torch::Tensor> parameters() const { return module_->parameters(); }

 private:
  std::shared_ptr<Impl> module_;
  DataParallelCore core_;
};

template <class Module>
DistributedDataParallel(std::shared_ptr<Module>, c10::intrusive_ptr<c10d::ProcessGroup>,
                        DistributedDataParallelOptions = {}) -> DistributedDataParallel<Module>;
template <class Holder>
  requires requires { typename Holder::ContainedType; }
DistributedDataParallel(Holder, c10::intrusive_ptr<c10d::ProcessGroup>,
                        DistributedDataParallelOptions = {})
    -> DistributedDataParallel<typename Holder::ContainedType>;

}  // namespace muster
