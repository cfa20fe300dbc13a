// Whether all ranks have built the same model, before anything of it is sent between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace muster {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// One line a tensor: "parameter fc1.weight\tfloat32 [10, 5]".
using Manifest = std::vector<std::string>;
[[nodiscard]] Manifest manifest(const std::vector<NamedTensor>& parameters,
                                const std::vector<NamedTensor>& buffers);

// A manifest and the ranks that have it, in rising order.
struct RankedManifest {
  Manifest lines;
  std::vector<int> ranks;
};

// What differs and where, a tensor a line: "parameter fc1.weight: float32 [10, 5] on ranks 0,2-3,
// float32 [10, 6] on rank 1".
[[nodiscard]] std::string differences(const std::vector<RankedManifest>& models);

// Collective; throws std::runtime_error with the differences, on all ranks. One all-reduce of 16
// bytes when all is well.
void check_agreement(c10d::ProcessGroup& group, const Manifest& mine);

}  // namespace muster
