// Hooks that reduce a bucket of gradients between ranks in place of the Reducer's own sum.
#pragma once

#include <functional>
#include <memory>

#include <torch/csrc/distributed/c10d/comm.hpp>

#include "muster/distributed_data_parallel.hpp"

namespace muster {

using CommHook = std::unique_ptr<c10d::CommHookInterface>;

// How the Reducer would divide without a hook: it multiplies by the reciprocal while it copies a
// gradient into its bucket, but divides if the gradient is already stored in the bucket. The two
// results can differ in the last bit unless the divisor is a power of two.
struct Division {
  int divisor = 1;
  bool by_reciprocal = true;
};

// Returns the hook that the options need, or null if the Reducer's own sum suffices. The hook calls
// `division` for every bucket.
[[nodiscard]] CommHook hook_for(const DistributedDataParallelOptions& options,
                                c10::intrusive_ptr<c10d::ProcessGroup> group,
                                std::function<Division()> division);

}  // namespace muster
