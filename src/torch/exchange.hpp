// Texts and tensors between the ranks of a group, and what they find out together. Not a public
// header; libmuster exports for muster-train what MUSTER_API marks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/api.hpp"

namespace muster {

using ProcessGroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

// Where tensors must be for this group's collectives.
[[nodiscard]] c10::Device device_of(c10d::ProcessGroup& group);

// Collective; what each rank said, by rank. Any bytes.
[[nodiscard]] MUSTER_API std::vector<std::string> gather_texts(c10d::ProcessGroup& group,
                                                               const std::string& mine);
[[nodiscard]] MUSTER_API std::string own_host();
// "rank 3 on n2"
[[nodiscard]] std::string rank_and_host(int rank);

// Collective: every rank acts, and where one throws, all throw std::runtime_error: `what`, the
// first such rank with its host, and what it said.
void act_together(c10d::ProcessGroup& group, const std::function<void()>& act,
                  const std::string& what = "");

// Collective; contiguous tensors of any types, the same on all ranks, on the group's device.
void broadcast_tensors(const ProcessGroupPointer& group, const std::vector<at::Tensor>& tensors,
                       int root);
// Collective; `text` counts on the root only.
[[nodiscard]] std::string broadcast_text(c10d::ProcessGroup& group, const std::string& text,
                                         int root);

}  // namespace muster
