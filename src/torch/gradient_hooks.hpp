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

// The Reducer's own average, but that the last bucket, for which the backward pass has nothing more
// to do than wait, is reduced by the calling thread (AllreduceOptions::asyncOp is false).
[[nodiscard]] CommHook average_hook(c10::intrusive_ptr<c10d::ProcessGroup> group,
                                    std::function<Division()> division);

// The average of gradients that were rounded to `type`. `inline_last`: as above.
[[nodiscard]] CommHook compressing_hook(c10::intrusive_ptr<c10d::ProcessGroup> group,
                                        std::function<Division()> division, at::ScalarType type,
                                        bool inline_last);

[[nodiscard]] CommHook user_hook(GradientHook hook);

}  // namespace muster
