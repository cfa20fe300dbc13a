// What happens to a bucket of gradients between the ranks, where it is not the Reducer's own sum.
#pragma once

#include <functional>
#include <memory>

#include <torch/csrc/distributed/c10d/comm.hpp>

#include "muster/distributed_data_parallel.hpp"

namespace muster {

using CommHook = std::unique_ptr<c10d::CommHookInterface>;

// How the Reducer divides when it has no hook: it multiplies by the reciprocal while it copies a
// gradient into its bucket, and divides where the gradient lies in the bucket already. The two
// differ in the last bit when the divisor is no power of two.
struct Division {
  int divisor = 1;
  bool by_reciprocal = true;
};

// What the options ask for. Null: the Reducer's own sum does it.
[[nodiscard]] CommHook hook_for(const DistributedDataParallelOptions& options,
                                c10::intrusive_ptr<c10d::ProcessGroup> group,
                                std::function<Division()> division);

}  // namespace muster
