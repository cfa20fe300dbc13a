#include "torch/reducer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR != 2 || TORCH_VERSION_MINOR < 12
#error "libmuster works with c10d's Reducer of PyTorch 2.12 to 2.15, and this PyTorch is older"
#endif

namespace muster {
namespace {

// Returns the buckets in the order in which the backward pass probably produces gradients, last
// parameter first. Their size is not limited, because the Reducer rebuilds them when the first step
// has shown the real order. If each step may use different parameters, it never rebuilds them, so
// the limits apply here.
std::vector<std::vector<size_t>> first_buckets(const std::vector<at::Tensor>& tensors,
                                               const std::vector<bool>& sparse,
                                               const ReducerOptions& options) {
  std::vector<size_t> limits{std::numeric_limits<int64_t>::max()};
  if (options.find_unused_parameters && !options.static_graph) {
    limits = {static_cast<size_t>(options.first_bucket_bytes),
              static_cast<size_t>(options.bucket_bytes)};
  }
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(tensors, limits, sparse));
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

}  // namespace

std::shared_ptr<c10d::Reducer> make_reducer(const std::vector<ReducedParameter>& parameters,
                                            const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                            const ReducerOptions& options) {
  std::vector<at::Tensor> tensors;
  std::vector<bool> sparse;
  std::unordered_map<size_t, std::string> names;
  std::vector<ReducedParameter> ordered = parameters;
  if (options.fixed_buckets) std::reverse(ordered.begin(), ordered.end());
  for (const ReducedParameter& parameter : ordered) {
    names.emplace(tensors.size(), parameter.name);
    tensors.push_back(parameter.tensor);
    sparse.push_back(parameter.sparse_gradient);
  }
  auto buckets = first_buckets(tensors, sparse, options);
  constexpr bool kSkipUnused = false;
  constexpr bool kPythonReducer = false;
  constexpr bool kBatchedGradCopy = false;
  auto reducer = std::make_shared<c10d::Reducer>(
      std::move(tensors), std::move(buckets), group, std::move(sparse), options.bucket_bytes,
      options.find_unused_parameters, options.gradient_as_bucket_view, std::move(names),
      options.first_bucket_bytes, kSkipUnused, kPythonReducer,
      std::vector<int64_t>{} /* the two sizes above */, kBatchedGradCopy
#if TORCH_VERSION_MINOR >= 15
      ,
      /*lazy_bucket_allocation=*/false
#endif
  );
  if (options.static_graph) reducer->set_static_graph();
  // When the set of unused parameters changes, the Reducer writes to its logger without checking
  // that it has one. The logger owns the Reducer, so the returned pointer shares the logger's
  // ownership and keeps both alive.
  auto logger = std::make_shared<c10d::Logger>(reducer);
  reducer->set_logger(logger);
  if (options.fixed_buckets) {
    // Pretends that a first step has shown this order. The Reducer rebuilds its buckets only once.
    reducer->push_rebuilt_params_for_all_indices();
    reducer->rebuild_buckets();
  }
  return {logger, reducer.get()};
}

}  // namespace muster
