/// @file
/// DistributedDataParallel, as torch.nn.parallel.DistributedDataParallel in Python: every rank has
/// the same model, and gradients are averaged while the backward pass runs.
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

/// The type to which gradients are converted for sending. In the model they keep their own type.
enum class Compression {
  none,  ///< The gradients' own type.
  fp16,  ///< float16.
  bf16   ///< bfloat16.
};

/// Called once per bucket in each backward pass, as soon as all gradients of the bucket are
/// computed. The returned future must hold one tensor of the bucket's shape with the new gradients.
/// To average, the hook must also divide by the number of ranks.
using GradientHook =
    std::function<c10::intrusive_ptr<c10::ivalue::Future>(c10d::GradBucket& bucket)>;

/// Options of DistributedDataParallel.
struct DistributedDataParallelOptions {
  /// Allows steps in which some parameters do not contribute to the loss. Each step then searches
  /// the autograd graph for them.
  bool find_unused_parameters = false;
  /// Promises that every step uses the same parameters in the same order. Unused parameters are
  /// then allowed without a search in each step. Cannot be combined with join().
  bool static_graph = false;
  /// Makes gradients views of the buckets, which saves memory and copying. See
  /// DistributedDataParallel::zero_grad.
  bool gradient_as_bucket_view = false;
  /// Copies rank 0's buffers to all ranks in the constructor and before each forward pass, except
  /// after a forward pass that ran under no_sync() or without gradients.
  bool broadcast_buffers = true;
  /// Size of the first bucket in bytes. A small bucket is sent earlier.
  int64_t first_bucket_bytes = 1 << 20;
  /// Size of the other buckets in bytes. Large buckets mean fewer messages.
  int64_t bucket_bytes = 25 << 20;
  /// Fills the buckets from the last parameter to the first, instead of adapting them to the order
  /// of the first step. A job that resumes from a checkpoint then rounds sums in the same way as
  /// one that was never interrupted. Cannot be combined with find_unused_parameters, which fixes
  /// the buckets anyway, unless static_graph is set too.
  bool fixed_buckets = false;
  Compression compression = Compression::none;  ///< How gradients are sent.
  GradientHook hook = nullptr;  ///< Replaces the averaging. Cannot be combined with compression.
  /// For models on the CPU: lets glibc keep up to 1 GiB of freed memory in this process, instead of
  /// returning it to the kernel in every step. Environment variables that configure malloc take
  /// precedence.
  bool keep_freed_memory = true;
};

/// Options of DistributedDataParallel::join.
struct JoinOptions {
  /// Divides gradients by the size of the group. If false, they are divided by the number of ranks
  /// that still have input.
  bool divide_by_initial_world_size = true;
  /// Makes join() throw std::runtime_error on all ranks as soon as one has no input left. Needed
  /// for models that run collectives of their own, such as SyncBatchNorm.
  bool throw_on_early_termination = false;
};

/// Collects the tensors in what a model returns. For a type of your own, add a function to its
/// namespace:
///
///     void collect_tensors(MyOutput& output, muster::OutputTensors& found) {
///       collect_tensors(output.logits, found);
///     }
class OutputTensors {
 public:
  /// Adds a tensor, which must outlive this object.
  void add(torch::Tensor& tensor) { found_.push_back(&tensor); }
  /// Returns the tensors that have been added.
  [[nodiscard]] const std::vector<torch::Tensor*>& found() const { return found_; }

 private:
  std::vector<torch::Tensor*> found_;
};

/// Adds a tensor to `found`. Overloads add all tensors in vectors, arrays, maps, optional values,
/// pairs and tuples, and ignore numbers, enumerators and strings.
inline void collect_tensors(torch::Tensor& tensor, OutputTensors& found) {
  found.add(tensor);
}
/// @cond
// Numbers, enumerators and strings contain no tensors.
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

// The parts of DistributedDataParallel that do not depend on the model's type.
class MUSTER_API DataParallelCore {
 public:
  DataParallelCore(std::shared_ptr<torch::nn::Module> module,
                   c10::intrusive_ptr<c10d::ProcessGroup> group,
                   const DistributedDataParallelOptions& options);

  void before_forward();
  // Whether after_forward needs the tensors of the output.
  [[nodiscard]] bool looks_at_output() const;
  // Replaces the tensors with copies. When the backward pass reaches these, the core knows that it
  // has begun.
  void after_forward(const std::vector<torch::Tensor*>& output);

  // Returns the previous setting.
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

/// @endcond

/// Wraps a model so that the backward pass averages its gradients over all ranks. `Module` is a
/// torch::nn::Module or a holder that TORCH_MODULE made.
///
/// The constructor, calls of the model, join() and clip_grad_norm() are collective: every rank of
/// the group must make them in the same order, from one thread at a time.
template <class Module>
class DistributedDataParallel {
 public:
  /// The module's own type.
  using Impl = typename ModuleOf<Module>::type;

  /// Checks that the model has the same parameters and buffers on all ranks, and copies rank 0's
  /// values to the others. Throws on all ranks if names, types or shapes differ, and says which and
  /// where. Do not add, remove or freeze parameters afterwards.
  DistributedDataParallel(std::shared_ptr<Impl> module,
                          c10::intrusive_ptr<c10d::ProcessGroup> group,
                          const DistributedDataParallelOptions& options = {})
      : module_(std::move(module)), core_(module_, std::move(group), options) {}

  /// The same for a holder that TORCH_MODULE made.
  DistributedDataParallel(const torch::nn::ModuleHolder<Impl>& module,
                          c10::intrusive_ptr<c10d::ProcessGroup> group,
                          const DistributedDataParallelOptions& options = {})
      : DistributedDataParallel(module.ptr(), std::move(group), options) {}

  /// Calls the model's forward. The backward pass over what it returns averages the gradients.
  /// Throws std::invalid_argument if find_unused_parameters or static_graph is set and there is no
  /// collect_tensors for the type of the output.
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

  /// While an object of this class exists, backward passes add to this rank's gradients and send
  /// nothing. The first backward pass after that averages the sums over all ranks. A forward pass
  /// must run under the same setting as its backward pass.
  class [[nodiscard]] NoSync {
   public:
    /// Switches the averaging off.
    explicit NoSync(const DataParallelCore& core)
        : core_(core), before_(core_.set_gradient_sync(false)) {}
    /// Switches the averaging on again, unless an outer NoSync exists.
    ~NoSync() { core_.set_gradient_sync(before_); }
    NoSync(const NoSync&) = delete;             ///< Not copyable.
    NoSync& operator=(const NoSync&) = delete;  ///< Not copyable.

   private:
    DataParallelCore core_;  // a copy, because the wrapper may be moved meanwhile
    bool before_;
  };
  /// Switches the averaging off for as long as the result exists.
  NoSync no_sync() { return NoSync(core_); }

  /// Clears the gradients. Use this and not the optimizer's zero_grad, which throws if gradients
  /// are views of buckets. With `set_to_none`, the gradients are removed. Without it, they are set
  /// to zero in place: if they are views, they stay views, and nothing has to be copied into the
  /// buckets.
  void zero_grad(bool set_to_none = true) { core_.zero_grad(set_to_none); }

  /// Scales all gradients so that their common norm is at most `max_norm`, and returns the norm
  /// before scaling. All ranks use the norm that rank 0 computed, so that rounding cannot make
  /// their weights differ.
  double clip_grad_norm(double max_norm, double norm_type = 2.0) {
    return core_.clip_grad_norm(max_norm, norm_type);
  }

  /// Runs `loop`, whose number of steps may differ between ranks. Finished ranks contribute zeros
  /// to the collectives of the others. In the end, all ranks have the model of a rank that finished
  /// last. Throws std::invalid_argument with static_graph.
  void join(const std::function<void()>& loop, const JoinOptions& options = {}) {
    core_.join(loop, options);
  }

  /// The model.
  [[nodiscard]] const std::shared_ptr<Impl>& module() const { return module_; }
  /// Gives access to the model's members.
  Impl* operator->() const { return module_.get(); }
  /// Returns the model's parameters, for an optimizer.
  [[nodiscard]] std::vector<torch::Tensor> parameters() const { return module_->parameters(); }

 private:
  std::shared_ptr<Impl> module_;
  DataParallelCore core_;
};

/// @cond
template <class Module>
DistributedDataParallel(std::shared_ptr<Module>, c10::intrusive_ptr<c10d::ProcessGroup>,
                        DistributedDataParallelOptions = {}) -> DistributedDataParallel<Module>;
template <class Holder>
  requires requires { typename Holder::ContainedType; }
DistributedDataParallel(Holder, c10::intrusive_ptr<c10d::ProcessGroup>,
                        DistributedDataParallelOptions = {})
    -> DistributedDataParallel<typename Holder::ContainedType>;
/// @endcond

}  // namespace muster
