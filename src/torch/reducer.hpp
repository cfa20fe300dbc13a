// Creates c10d's Reducer. Its constructor differs between PyTorch's minor versions, so only
// make_reducer may call it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace muster {

struct ReducedParameter {
  std::string name;
  at::Tensor tensor;
  bool sparse_gradient = false;
};

struct ReducerOptions {
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool gradient_as_bucket_view = false;
  int64_t first_bucket_bytes = c10d::kDefaultFirstBucketBytes;
  int64_t bucket_bytes = c10d::kDefaultBucketBytesCap;
  bool fixed_buckets = false;  // if set, make_reducer is collective
};

// Creates the Reducer, which registers hooks on the parameters. All ranks must pass the same
// parameters in the same order.
[[nodiscard]] std::shared_ptr<c10d::Reducer> make_reducer(
    const std::vector<ReducedParameter>& parameters,
    const c10::intrusive_ptr<c10d::ProcessGroup>& group, const ReducerOptions& options);

}  // namespace muster
