// A c10d backend as a Fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/types.h>

#include "muster/job.hpp"
#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {

// Returns the device for this rank's tensors. For CUDA, it is the device to which the group is
// bound or, if there is none, the one with the local rank's number. The CUDA path was compiled but
// never run, for lack of a GPU.
[[nodiscard]] at::Device device_of(const std::string& name, const c10d::ProcessGroup& group,
                                   int local_rank);

// Waits until the device has finished all work. Does nothing for a CPU.
void settle_device(const at::Device& device);

class TorchFabric final : public Fabric {
 public:
  TorchFabric(c10::intrusive_ptr<c10d::ProcessGroup> group, at::Device device);

  void allocate(Shape shape) override;
  void fill(float value) override;
  void write(std::size_t at, std::span<const float> values) override;
  void read(std::size_t at, std::span<float> values) override;
  void run(Operation operation) override;
  void send(const void* data, std::size_t bytes, int to) override;
  void receive(void* data, std::size_t bytes, int from) override;
  void largest(std::span<double> values) override;
  void from_first(std::span<std::int64_t> values) override;
  void gather(const void* own, std::size_t bytes, void* all) override;

 private:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  WorkPtr begin(Operation operation);
  void send_and_receive();

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  at::Device device_;
  c10::intrusive_ptr<c10d::Backend> data_;     // for the device
  c10::intrusive_ptr<c10d::Backend> control_;  // for the CPU
  std::vector<at::Tensor> from_;               // one tensor each; c10d takes vectors
  std::vector<at::Tensor> to_;
  bool in_place_ = true;
};

}  // namespace muster::programs::bench
