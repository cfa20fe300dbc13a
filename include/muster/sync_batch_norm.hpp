/// @file
/// Batch normalisation over the batches of all ranks, as torch.nn.SyncBatchNorm. It also works on
/// CPUs, and with any process group.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include "muster/api.hpp"

namespace muster {

/// Has the same parameters and buffers as BatchNorm1d, BatchNorm2d and BatchNorm3d. The input is
/// [N, C, ...]; N may differ between ranks, and may be 0. In training mode, the forward and
/// backward passes are collective: every rank must run them. In evaluation mode, it behaves like
/// BatchNorm and does not communicate.
class MUSTER_API SyncBatchNormImpl
    : public torch::nn::NormImplBase<2, SyncBatchNormImpl, torch::nn::BatchNormOptions> {
 public:
  /// Normalises over the ranks of `group`.
  SyncBatchNormImpl(const torch::nn::BatchNormOptions& options,
                    c10::intrusive_ptr<c10d::ProcessGroup> group);

  /// Normalises a batch. In training mode, throws std::invalid_argument if a channel has fewer than
  /// two values on all ranks together.
  torch::Tensor forward(const torch::Tensor& input);
  /// Prints the module's name and options.
  void pretty_print(std::ostream& stream) const override;

 protected:
  /// Throws std::invalid_argument unless the input is [N, C, ...] with this module's number of
  /// features.
  void _check_input_dim(const torch::Tensor& input) override;

 private:
  // Counts a batch, and returns its weight in the running statistics.
  double next_momentum();

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

/// The holder of SyncBatchNormImpl, as torch::nn::BatchNorm2d is for its module.
TORCH_MODULE(SyncBatchNorm);

}  // namespace muster
