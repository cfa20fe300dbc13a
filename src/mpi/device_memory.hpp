// Decides how tensors on a GPU reach an MPI call.
#pragma once

namespace muster::mpi {

// Which MPI calls accept CUDA memory. `collectives` means the non-blocking ones, because the
// backend uses no others.
struct CudaSupport {
  bool messages = false;
  bool collectives = false;
};

// `is_aware`: whether the MPI claims to be CUDA-aware. According to Open MPI's documentation, its
// claim covers send, receive and blocking collectives, but not non-blocking collectives.
constexpr CudaSupport cuda_support(bool is_open_mpi, bool is_aware) {
  return {.messages = is_aware, .collectives = is_aware && !is_open_mpi};
}

enum class Way {
  kDirect,  // pass the device pointer to MPI
  kCopy,    // copy through host memory
  kRefuse   // a copy is needed, but the user did not allow it
};

constexpr Way way_from_device(CudaSupport mpi, bool is_cuda, bool is_collective, bool may_copy) {
  const bool is_supported = is_collective ? mpi.collectives : mpi.messages;
  if (is_cuda && is_supported) return Way::kDirect;
  return may_copy ? Way::kCopy : Way::kRefuse;
}

}  // namespace muster::mpi
