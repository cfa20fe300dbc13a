// How a bucket of gradients is reduced between ranks when the Reducer's own sum is not used.
#pragma once

#include <functional>
#include <memory>

#include <torch/csrc/distributed/c10d/comm.hpp>

#include "muster/distributed_data_parallel.hpp"

namespace muster {

using CommHook = std::unique_ptr<c10d::CommHookInterface>;

// How the Reducer divides without a hook. It multiplies by the reciprocal while it copies a
// gradient into its bucket, but divides if the gradient is already stored in the bucket. The
// results can differ in the last bit unless the divisor is a power of two.
struct Division {
  int divisor = 1;
  bool by_reciprocal = true;
};

// The hook that the options need. Null if the Reducer's own sum suffices.
[[nodiscard]] CommHook hook_for(const DistributedDataParallelOptions& options,
                                c10::intrusive_ptr<c10d::ProcessGroup> group,
                                std::function<Division()> division);

}  // namespace muster
