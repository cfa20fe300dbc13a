// How tensors on a GPU get into an MPI call.
#pragma once

namespace muster::mpi {

// In which calls an MPI can be given CUDA memory. All collectives of the backend are non-blocking.
struct CudaSupport {
  bool messages = false;
  bool collectives = false;
};

// `is_aware` is what the MPI says of itself. Open MPI documents that this holds for sending,
// receiving and blocking collectives, and not for non-blocking collectives.
constexpr CudaSupport cuda_support(bool is_open_mpi, bool is_aware) {
  return {.messages = is_aware, .collectives = is_aware && !is_open_mpi};
}

enum class Way {
  kDirect,  // MPI is given the device's pointer
  kCopy,    // through the host's memory
  kRefuse   // copying was not asked for
};

constexpr Way way_from_device(CudaSupport mpi, bool is_cuda, bool is_collective, bool may_copy) {
  const bool is_supported = is_collective ? mpi.collectives : mpi.messages;
  if (is_cuda && is_supported) return Way::kDirect;
  return may_copy ? Way::kCopy : Way::kRefuse;
}

}  // namespace muster::mpi
