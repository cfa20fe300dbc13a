// Only for a PyTorch that was built with CUDA. campaigns/nccl_compile compiles this file against
// the headers of one. This file has not been run on a GPU.
#include <stdexcept>

#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "torch/group.hpp"

namespace muster {
namespace {

// A launcher may make only one device visible to each rank; that device then has number 0.
c10::DeviceIndex device_of(const Job& job) {
  const int devices = c10::cuda::device_count();
  if (devices == 1) return 0;
  if (job.local_rank < devices) return static_cast<c10::DeviceIndex>(job.local_rank);
  throw std::runtime_error(
      "this process is number " + std::to_string(job.local_rank) + " of " +
      std::to_string(job.local_size) + " on its host, but it sees " + std::to_string(devices) +
      " CUDA devices\n  hint: start at most as many ranks per host as it has devices, or give each "
      "rank its own with CUDA_VISIBLE_DEVICES; without devices use \"gloo\" or \"mpi\"");
}

}  // namespace

Usable nccl_usable() {
  const int devices = c10::cuda::device_count();
  if (devices == 0) return {.usable = false, .text = "this host has no CUDA device"};
  return {.usable = true, .text = "PyTorch has NCCL, and this host has a CUDA device"};
}

BackendPointer nccl_backend(const Job& job, const c10::intrusive_ptr<c10d::Store>& store,
                            const GroupOptions& options) {
  const c10::DeviceIndex device = device_of(job);
  c10::cuda::set_device(device);
  auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
  nccl_options->timeout = options.timeout;
  auto own = c10::make_intrusive<c10d::PrefixStore>("nccl", store);
  auto backend =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(own, job.rank, job.size, std::move(nccl_options));
  backend->setBoundDeviceId(c10::Device(c10::DeviceType::CUDA, device));
  return backend;
}

}  // namespace muster
