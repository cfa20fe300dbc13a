// Checks that all ranks have built the same model, before any of its tensors are exchanged.
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

// One line per tensor: "parameter fc1.weight\tfloat32 [10, 5]".
using Manifest = std::vector<std::string>;
[[nodiscard]] Manifest manifest(const std::vector<NamedTensor>& parameters,
                                const std::vector<NamedTensor>& buffers);

// A manifest and the ranks that have it, in ascending order.
struct RankedManifest {
  Manifest lines;
  std::vector<int> ranks;
};

// Describes how the models differ, one tensor per line: "parameter fc1.weight: float32 [10, 5] on
// ranks 0,2-3, float32 [10, 6] on rank 1". If only the order of the tensors differs, names the
// first place where it does.
[[nodiscard]] std::string differences(const std::vector<RankedManifest>& models);

// Collective. If the models differ, every rank throws std::runtime_error with the differences. If
// they are equal, costs one all-reduce of 16 bytes.
void check_agreement(c10d::ProcessGroup& group, const Manifest& mine);

}  // namespace muster
