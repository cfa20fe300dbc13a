// Batch normalisation over the batch of all ranks together: torch.nn.SyncBatchNorm, on processors
// as well as on devices, over any process group.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include "muster/api.hpp"

namespace muster {

// Has the parameters and buffers of BatchNorm{1,2,3}d, by the same names. Input: [N, C, ...]; N may
// differ between ranks, and be 0. In training forward and backward are collective; in evaluation it
// is BatchNorm.
class MUSTER_API SyncBatchNormImpl
    : public torch::nn::NormImplBase<2, SyncBatchNormImpl, torch::nn::BatchNormOptions> {
 public:
  SyncBatchNormImpl(const torch::nn::BatchNormOptions& options,
                    c10::intrusive_ptr<c10d::ProcessGroup> group);

  torch::Tensor forward(const torch::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

 protected:
  void _check_input_dim(const torch::Tensor& input) override;

 private:
  // How much the batch counts in the running statistics.
  double next_momentum();

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

TORCH_MODULE(SyncBatchNorm);

}  // namespace muster
