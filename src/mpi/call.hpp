// Prepares one c10d operation on tensors for MPI: checks and records the tensors, provides the
// memory for MPI, and submits the operation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "mpi/backend.hpp"

namespace muster::mpi {

// Returns the type with which MPI reduces these elements. If there is none, throws an error that
// names `type`.
[[nodiscard]] Type reducible_type(const char* name, at::ScalarType type);

class TensorOperation;

class Call {
 public:
  // `example` provides the element count and type that messages show.
  Call(MpiBackend& backend, const char* name, c10d::OpType type, const at::Tensor& example,
       std::chrono::milliseconds timeout, bool async);

  // Records these tensors as the operation's inputs, instead of `example`.
  void inputs(at::TensorList list);
  // Return the memory that MPI is to read or write: the tensor's own, or a copy on the host. After
  // write(), such a copy is copied back to the tensor when MPI is done.
  at::Tensor read(const at::Tensor& tensor);
  at::Tensor write(const at::Tensor& tensor);
  // Throws if one of the tensors is on a device and the user did not allow copies through the host.
  void copies(const std::vector<at::Tensor>& list) const;
  // Adds a step to run when MPI is done. Steps run in reverse order.
  void after(std::function<void()> step);
  // Returns the MPI reduction to use. For PREMUL_SUM, scales `memory` right away. For an average,
  // adds a step that divides `results`.
  Reduction reduction(const c10d::ReduceOp& reduce_op, const at::Tensor& memory,
                      const std::vector<at::Tensor>& results);
  // Says that only `peer` must take part; if it is negative, it may be any rank. Call this before
  // read() and write(), which depend on `collective`.
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
