#include "muster/distributed_data_parallel.hpp"

#include <cstdlib>
#include <limits>
#include <set>

#include <malloc.h>
#include <torch/csrc/autograd/engine.h>

#include "torch/gradient_hooks.hpp"
#include "torch/model_agreement.hpp"
#include "torch/reducer.hpp"

namespace muster {
namespace {

using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

constexpr size_t kBroadcastBytes = 250 << 20;  // to broadcast at a time

// Returns every tensor once, under its first name. Leaves out undefined tensors.
std::vector<NamedTensor> distinct(const torch::OrderedDict<std::string, torch::Tensor>& named) {
  std::vector<NamedTensor> tensors;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& item : named) {
    if (!item.value().defined()) continue;
    if (seen.insert(item.value().unsafeGetTensorImpl()).second) {
      tensors.push_back({item.key(), item.value()});
    }
  }
  return tensors;
}

bool gives_sparse_gradient(const torch::nn::Module& module) {
  if (const auto* embedding = module.as<torch::nn::Embedding>()) return embedding->options.sparse();
  if (const auto* bag = module.as<torch::nn::EmbeddingBag>()) return bag->options.sparse();
  return false;
}

// Parameters that need gradients, in the order of the modules that own them.
std::vector<ReducedParameter> reduced_parameters(const torch::nn::Module& root) {
  std::vector<ReducedParameter> found;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& module : root.named_modules()) {
    const bool sparse = gives_sparse_gradient(*module.value());
    for (const auto& own : module.value()->named_parameters(/*recurse=*/false)) {
      if (!own.value().defined() || !own.value().requires_grad()) continue;
      if (!seen.insert(own.value().unsafeGetTensorImpl()).second) continue;
      const std::string prefix = module.key().empty() ? "" : module.key() + ".";
      found.push_back({prefix + own.key(), own.value(), sparse});
    }
  }
  return found;
}

void check_options(const DistributedDataParallelOptions& options) {
  if (options.hook && options.compression != Compression::none) {
    throw std::invalid_argument(
        "DistributedDataParallel: compression cannot be combined with a hook of your own; compress "
        "in your hook, or leave compression out");
  }
  if (options.fixed_buckets && options.find_unused_parameters && !options.static_graph) {
    throw std::invalid_argument(
        "DistributedDataParallel: find_unused_parameters already fixes the buckets; leave "
        "fixed_buckets out");
  }
  if (options.first_bucket_bytes <= 0 || options.bucket_bytes <= 0) {
    throw std::invalid_argument("DistributedDataParallel: a bucket must hold at least 1 byte");
  }
}

void check_sparse(const std::vector<ReducedParameter>& parameters,
                  const c10d::ProcessGroup& group) {
  if (group.getBackendName() != "mpi") return;
  for (const ReducedParameter& parameter : parameters) {
    if (!parameter.sparse_gradient) continue;
    throw std::invalid_argument("DistributedDataParallel: the gradient of " + parameter.name +
                                " is sparse, and MPI cannot add sparse tensors; use a group over "
                                "\"gloo\", or an embedding without the sparse option");
  }
}

void keep_freed_memory() {
#ifdef __GLIBC__
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::string(tunables).find("glibc.malloc.") != std::string::npos)
    return;
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_"}) {
    if (std::getenv(name) != nullptr) return;
  }
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc accepts
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

// The backward pass goes through this function first. It calls `begins`, which queues
// Reducer::delay_all_reduce for the first backward pass of a static graph. Gradients that are not
// needed stay undefined, so that parameters behind an output that the loss does not use count as
// unused.
class BackwardBegins : public torch::autograd::Function<BackwardBegins> {
 public:
  struct Callback : torch::CustomClassHolder {
    explicit Callback(std::function<void()> f) : call(std::move(f)) {}
    std::function<void()> call;
  };

  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const c10::intrusive_ptr<Callback>& begins,
                                                at::TensorList output) {
    context->set_materialize_grads(false);
    context->saved_data["begins"] = c10::IValue::make_capsule(begins);
    torch::autograd::variable_list copies;
    for (const auto& tensor : output) copies.push_back(tensor.clone());
    return copies;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto begins = context->saved_data["begins"].toCapsule();
    static_cast<Callback&>(*begins).call();
    torch::autograd::variable_list result{torch::Tensor()};
    result.insert(result.end(), gradients.begin(), gradients.end());
    return result;
  }
};

}  // namespace

struct DataParallelCore::State : std::enable_shared_from_this<State> {
  std::shared_ptr<torch::nn::Module> module;
  GroupPtr group;
  DistributedDataParallelOptions options;
  std::vector<ReducedParameter> parameters;
  std::vector<at::Tensor> all_parameters;  // including frozen ones
  std::vector<at::Tensor> buffers;
  c10::Device device = c10::kCPU;
  std::shared_ptr<c10d::Reducer> reducer;

  bool sync_gradients = true;
  bool sync_buffers_next = true;     // whether the last forward pass was synchronised
  bool static_graph_learnt = false;  // whether the first backward pass has begun
  // Whether the gradients were stored in the buckets before this backward pass.
  bool gradients_in_buckets = false;
  std::optional<JoinOptions> joining;
  // While joining: the number of ranks with input for this step. Valid when `active_ranks_work` is
  // done.
  at::Tensor active_ranks;
  c10::intrusive_ptr<c10d::Work> active_ranks_work;

  [[nodiscard]] at::Tensor sum_of(double mine, bool wait) const;
  [[nodiscard]] int highest_rank_with(bool candidate) const;
  [[nodiscard]] bool syncs_buffers() const;
  void broadcast(const std::vector<at::Tensor>& tensors, int from) const;
  void broadcast_model(int from) const;
  void broadcast_buffers(int from) const;
  void register_hook();
  [[nodiscard]] Division division() const;
  void announce_input();
  void shadow_step();
  void end_join(bool last);
};

at::Tensor DataParallelCore::State::sum_of(double mine, bool wait) const {
  std::vector<at::Tensor> values{at::full({1}, mine, at::TensorOptions(at::kFloat).device(device))};
  const auto work = group->allreduce(values);
  if (wait) work->wait();
  return values[0];
}

int DataParallelCore::State::highest_rank_with(bool candidate) const {
  std::vector<at::Tensor> ranks{at::full({1}, candidate ? group->getRank() : -1,
                                         at::TensorOptions(at::kLong).device(device))};
  c10d::AllreduceOptions maximum;
  maximum.reduceOp = c10d::ReduceOp::MAX;
  group->allreduce(ranks, maximum)->wait();
  return ranks[0].item<int>();
}

bool DataParallelCore::State::syncs_buffers() const {
  return sync_buffers_next && options.broadcast_buffers && !buffers.empty();
}

void DataParallelCore::State::broadcast(const std::vector<at::Tensor>& tensors, int from) const {
  if (group->getSize() == 1 || tensors.empty()) return;
  torch::NoGradGuard no_grad;
  c10d::broadcast_coalesced(group, tensors, kBroadcastBytes, from);
}

void DataParallelCore::State::broadcast_model(int from) const {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& parameter : all_parameters) tensors.push_back(parameter.detach());
  if (options.broadcast_buffers) {
    for (const at::Tensor& buffer : buffers) tensors.push_back(buffer.detach());
  }
  broadcast(tensors, from);
}

// Restores the buffers' version counters after the broadcast. The graph of an earlier forward pass
// may hold the buffers, and autograd would reject them if their versions had changed.
void DataParallelCore::State::broadcast_buffers(int from) const {
  std::vector<uint32_t> versions;
  for (const at::Tensor& buffer : buffers) {
    versions.push_back(buffer.is_inference()
                           ? 0
                           : buffer.unsafeGetTensorImpl()->version_counter().current_version());
  }
  broadcast(buffers, from);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].is_inference()) continue;
    c10::VariableVersion counter = buffers[i].unsafeGetTensorImpl()->version_counter();
    counter.set_version(versions[i]);
  }
}

Division DataParallelCore::State::division() const {
  int divisor = group->getSize();
  if (joining && !joining->divide_by_initial_world_size) {
    if (active_ranks_work) active_ranks_work->wait();
    divisor = active_ranks.item<int>();
  }
  return {.divisor = divisor, .by_reciprocal = !gradients_in_buckets};
}

void DataParallelCore::State::register_hook() {
  if (CommHook hook = hook_for(options, group, [this] { return division(); })) {
    reducer->register_comm_hook(std::move(hook));
  }
}

DataParallelCore::DataParallelCore(std::shared_ptr<torch::nn::Module> module, GroupPtr group,
                                   const DistributedDataParallelOptions& options)
    : state_(std::make_shared<State>()) {
  if (!module || !group) {
    throw std::invalid_argument("DistributedDataParallel needs a model and a process group");
  }
  check_options(options);
  State& s = *state_;
  s.module = std::move(module);
  s.group = std::move(group);
  s.options = options;
  s.parameters = reduced_parameters(*s.module);
  const auto all = distinct(s.module->named_parameters());
  const auto buffers = distinct(s.module->named_buffers());
  for (const auto& [name, tensor] : all) s.all_parameters.push_back(tensor);
  for (const auto& [name, tensor] : buffers) s.buffers.push_back(tensor);
  if (!all.empty()) s.device = all[0].tensor.device();
  if (options.keep_freed_memory && s.device.is_cpu()) keep_freed_memory();
  check_agreement(*s.group, manifest(all, buffers));
  check_sparse(s.parameters, *s.group);
  if (s.parameters.empty()) {
    throw std::invalid_argument(
        "DistributedDataParallel: no parameter of the model requires a gradient, so there is "
        "nothing to average; use the model without DistributedDataParallel");
  }
  s.broadcast_model(0);
  s.reducer = make_reducer(s.parameters, s.group,
                           {.find_unused_parameters = options.find_unused_parameters,
                            .static_graph = options.static_graph,
                            .gradient_as_bucket_view = options.gradient_as_bucket_view,
                            .first_bucket_bytes = options.first_bucket_bytes,
                            .bucket_bytes = options.bucket_bytes,
                            .fixed_buckets = options.fixed_buckets});
  s.register_hook();
}

// State::shadow_step must call the same collectives in the same order.
void DataParallelCore::before_forward() {
  State& s = *state_;
  const bool with_gradients = torch::GradMode::is_enabled();
  const bool synchronised = with_gradients && s.sync_gradients;
  if (synchronised) s.reducer->prepare_for_forward();
  if (s.joining) s.announce_input();
  if (with_gradients || s.joining) s.reducer->rebuild_buckets();
  if (s.syncs_buffers()) s.broadcast_buffers(s.joining ? s.highest_rank_with(true) : 0);
  if (s.joining) (void)s.sum_of(synchronised ? 1 : 0, /*wait=*/false);
}

bool DataParallelCore::looks_at_output() const {
  const State& s = *state_;
  if (s.options.static_graph) return !s.static_graph_learnt;
  return s.options.find_unused_parameters;
}

void DataParallelCore::after_forward(const std::vector<torch::Tensor*>& output) {
  State& s = *state_;
  s.sync_buffers_next = torch::GradMode::is_enabled() && s.sync_gradients;
  if (s.sync_buffers_next) {
    s.gradients_in_buckets =
        s.options.gradient_as_bucket_view && s.parameters[0].tensor.grad().defined();
    std::vector<at::Tensor> roots;
    if (s.options.find_unused_parameters && !s.options.static_graph) {
      for (const torch::Tensor* tensor : output) {
        if (tensor->defined()) roots.push_back(*tensor);
      }
    }
    s.reducer->prepare_for_backward(roots);
  }
  torch::autograd::variable_list followed;
  for (const torch::Tensor* tensor : output) {
    if (tensor->defined() && tensor->grad_fn()) followed.push_back(*tensor);
  }
  if (followed.empty()) return;
  auto begins = c10::make_intrusive<BackwardBegins::Callback>([weak = state_->weak_from_this()] {
    const auto state = weak.lock();
    if (!state || !state->options.static_graph || state->static_graph_learnt) return;
    state->static_graph_learnt = true;
    torch::autograd::Engine::get_default_engine().queue_callback(
        [state] { state->reducer->delay_all_reduce(); });
  });
  const auto replaced = BackwardBegins::apply(begins, at::TensorList(followed));
  auto next = replaced.begin();
  for (torch::Tensor* tensor : output) {
    if (tensor->defined() && tensor->grad_fn()) *tensor = *next++;
  }
}

bool DataParallelCore::set_gradient_sync(bool wanted) {
  return std::exchange(state_->sync_gradients, wanted);
}

void DataParallelCore::zero_grad(bool set_to_none) {
  torch::NoGradGuard no_grad;
  for (at::Tensor& parameter : state_->all_parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) continue;
    if (set_to_none) {
      gradient.reset();
    } else {
      if (gradient.requires_grad()) gradient = gradient.detach();  // detach_ rejects views
      gradient.zero_();
    }
  }
}

double DataParallelCore::clip_grad_norm(double max_norm, double norm_type) {
  const State& s = *state_;
  torch::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& parameter : s.all_parameters) {
    if (!parameter.grad().defined()) continue;
    gradients.push_back(parameter.grad());
    norms.push_back(at::linalg_vector_norm(gradients.back(), norm_type).to(s.device));
  }
  at::Tensor total = norms.empty() ? at::zeros({}, at::TensorOptions(at::kFloat).device(s.device))
                                   : at::linalg_vector_norm(at::stack(norms), norm_type);
  s.broadcast({total}, 0);
  const at::Tensor scale = (max_norm / (total + 1e-6)).clamp_max(1.0);
  for (at::Tensor& gradient : gradients) gradient.mul_(scale.to(gradient.device()));
  return total.item<double>();
}

void DataParallelCore::State::announce_input() {
  std::vector<at::Tensor> ones{at::ones({1}, at::TensorOptions(at::kFloat).device(device))};
  active_ranks_work = group->allreduce(ones);
  active_ranks = ones[0];
  if (joining->throw_on_early_termination) {
    if (sum_of(0, /*wait=*/true).item<float>() != 0) {
      throw std::runtime_error(
          "DistributedDataParallel::join: a rank has run out of input, and "
          "throw_on_early_termination ends the loop on all ranks");
    }
  }
  reducer->set_forward_pass_work_handle(active_ranks_work, joining->divide_by_initial_world_size);
}

// Calls the collectives of a step for a rank that has no input left.
void DataParallelCore::State::shadow_step() {
  reducer->rebuild_buckets();
  if (syncs_buffers()) broadcast_buffers(highest_rank_with(false));
  sync_buffers_next = sum_of(0, /*wait=*/true).item<float>() != 0;
  if (!sync_buffers_next) return;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> under_way;
  auto zeros = reducer->get_grad_buckets(/*return_zero_tensors=*/true);
  for (c10d::GradBucket& bucket : zeros) under_way.push_back(reducer->run_comm_hook(bucket));
  for (const auto& future : under_way) future->wait();
  if (options.find_unused_parameters) {
    // Zeros instead of the map itself, which still holds what this rank used in its last step.
    std::vector<at::Tensor> used{at::zeros_like(reducer->get_local_used_map_on_device())};
    group->allreduce(used)->wait();
  }
  reducer->push_rebuilt_params_for_all_indices();
}

void DataParallelCore::State::end_join(bool last) {
  broadcast_model(highest_rank_with(last));
}

void DataParallelCore::join(const std::function<void()>& loop, const JoinOptions& options) {
  State& s = *state_;
  if (s.joining)
    throw std::logic_error("DistributedDataParallel::join cannot be called inside another join");
  if (s.options.static_graph) {
    throw std::invalid_argument(
        "DistributedDataParallel::join: with static_graph a rank that has run out of input cannot "
        "take part in the steps of the others; use find_unused_parameters instead, or give all "
        "ranks the same number of batches");
  }
  struct Leave {
    State& state;
    ~Leave() {
      state.joining.reset();
      state.active_ranks_work.reset();
      // Otherwise the Reducer would keep dividing by the number of ranks that took part in the last
      // step.
      state.reducer->set_forward_pass_work_handle({}, /*useStaticWorldSize=*/true);
    }
  } leave{s};
  s.joining = options;
  loop();
  bool last = true;
  while (true) {
    s.active_ranks = s.sum_of(0, /*wait=*/true);
    s.active_ranks_work.reset();
    if (s.active_ranks.item<float>() == 0) break;
    if (options.throw_on_early_termination) {
      (void)s.sum_of(1, /*wait=*/true);
      throw std::runtime_error("DistributedDataParallel::join: rank " +
                               std::to_string(s.group->getRank()) +
                               " has run out of input before other ranks");
    }
    s.shadow_step();
    last = false;
  }
  s.end_join(last);
}

}  // namespace muster
