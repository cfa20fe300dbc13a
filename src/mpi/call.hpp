// One operation on tensors, from what c10d was given to what MPI is given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "mpi/backend.hpp"

namespace muster::mpi {

// Throws, naming the type, where MPI has none.
[[nodiscard]] Type reducible_type(const char* name, at::ScalarType type);

class TensorOperation;

class Call {
 public:
  // `example` gives number and type of elements for messages.
  Call(MpiBackend& backend, const char* name, c10d::OpType type, const at::Tensor& example,
       std::chrono::milliseconds timeout, bool async);

  // What is recorded instead of `example`.
  void inputs(at::TensorList list);
  // The memory that MPI reads or writes: the tensor's own, or a copy on the host.
  at::Tensor read(const at::Tensor& tensor);
  at::Tensor write(const at::Tensor& tensor);
  // These are copied to or from memory of the host: throws where that was not asked for.
  void copies(const std::vector<at::Tensor>& list) const;
  // When MPI is done, last first.
  void after(std::function<void()> step);
  // What MPI is to do for it. Scales `memory` now where the operation asks for that, and arranges
  // for the average of `results`.
  Reduction reduction(const c10d::ReduceOp& reduce_op, const at::Tensor& memory,
                      const std::vector<at::Tensor>& results);
  // Before memory is read or written.
  void only_with(int peer, bool collective);
  c10::intrusive_ptr<c10d::Work> begin(std::vector<at::Tensor> outputs, Post post);

 private:
  at::Tensor reach(const at::Tensor& tensor, bool& is_copy);

  MpiBackend& backend_;
  std::shared_ptr<TensorOperation> operation_;
  c10d::OpType type_;
  Submission how_;
};

}  // namespace muster::mpi
