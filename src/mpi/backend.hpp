// Implements c10d's Backend over MPI. Users get one through include/muster/mpi.hpp.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "mpi/progress.hpp"
#include "muster/mpi.hpp"
#include "recorder/operations.hpp"

namespace muster::mpi {

class Call;

class MpiBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  MpiBackend(Progress& progress, std::shared_ptr<Group> group, const mpi::Options& options);

  const std::string getBackendName() const override { return "mpi"; }
  c10::intrusive_ptr<Backend::Options> getBackendOptions() override;
  void setTimeout(std::chrono::milliseconds timeout) override { options_.timeout = timeout; }
  bool supportsSplitting() const override { return true; }
  void setGroupUid(const std::string& pg_uid) override;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& opts) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& opts) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;
  // Waits until the barrier is done. PyTorch expects a monitored barrier to name missing ranks;
  // here the time-out of every operation does that.
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return group_->posted; }

  // All members of the new group must call this, in the same order. Ranks outside it get null.
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Backend::Options>& opts) override;
  void abort() override { progress_.abort("the program called abort"); }

 private:
  friend class Call;

  const std::shared_ptr<recorder::GroupRecord>& record();
  WorkPtr reduce_scatter_into(Call& call, const Tensors& outputs, const Tensors& inputs,
                              const c10d::ReduceOp& reduce_op);
  WorkPtr exchange(Call& call, const Tensors& outputs, const at::Tensor& to,
                   const std::vector<std::size_t>& receive_bytes, const at::Tensor& from,
                   const std::vector<std::size_t>& send_bytes);
  WorkPtr receive(Tensors& tensors, int from, int tag, const char* name, c10d::OpType type);
  void check_tag(const char* name, int tag) const;

  Progress& progress_;
  std::shared_ptr<Group> group_;
  mpi::Options options_;
  std::shared_ptr<recorder::GroupRecord> record_;  // null if this group is not recorded
  std::atomic<bool> is_described_ = false;
};

}  // namespace muster::mpi
