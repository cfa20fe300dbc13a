// Replaces group_nccl.cpp for a PyTorch that was built without CUDA.
#include <stdexcept>

#include "torch/group.hpp"

namespace muster {
namespace {

constexpr const char* kWhy = "this libmuster was built against a PyTorch without CUDA";

}  // namespace

Usable nccl_usable() {
  return {.usable = false, .text = kWhy};
}

BackendPointer nccl_backend(const Job&, const c10::intrusive_ptr<c10d::Store>&,
                            const GroupOptions&) {
  throw std::runtime_error(std::string("NCCL is not available: ") + kWhy +
                           "\n  hint: build muster against a CUDA build of PyTorch "
                           "(-DMUSTER_TORCH=...), or use \"gloo\" or \"mpi\"");
}

}  // namespace muster
