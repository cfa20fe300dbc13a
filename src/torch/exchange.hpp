// Exchanges texts and tensors between the ranks of a group, and makes them act together. This is
// not a public header, but libmuster exports the functions marked MUSTER_API for muster-train.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/api.hpp"

namespace muster {

using ProcessGroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

// The device on which this group's collectives need their tensors.
[[nodiscard]] c10::Device device_of(c10d::ProcessGroup& group);

// Collective. Returns the text of every rank, by rank. The texts may contain any bytes.
[[nodiscard]] MUSTER_API std::vector<std::string> gather_texts(c10d::ProcessGroup& group,
                                                               const std::string& mine);
[[nodiscard]] MUSTER_API std::string own_host();
// For example "rank 3 on n2".
[[nodiscard]] std::string rank_and_host(int rank);

// Collective: every rank calls `act`. If it throws on any rank, all ranks throw std::runtime_error
// with `what`, the first such rank with its host, and that rank's message.
void act_together(c10d::ProcessGroup& group, const std::function<void()>& act,
                  const std::string& what = "");

// Collective. The tensors must be contiguous, on the group's device, and have the same types and
// shapes on all ranks.
void broadcast_tensors(const ProcessGroupPointer& group, const std::vector<at::Tensor>& tensors,
                       int root);
// Collective. Returns the root's `text` on every rank; the others' is ignored.
[[nodiscard]] std::string broadcast_text(c10d::ProcessGroup& group, const std::string& text,
                                         int root);

}  // namespace muster
