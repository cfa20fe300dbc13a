// A file a backend; `Job::group` puts them together.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/job.hpp"

namespace muster {

using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// Throws what is wrong with this host's network, before ranks wait for each other.
void check_gloo_network(const Job& job);
// Connected; `store` is the group's own.
[[nodiscard]] BackendPointer gloo_backend(const Job& job,
                                          const c10::intrusive_ptr<c10d::Store>& store,
                                          const GroupOptions& options);

// Refuses an MPI that numbers this process otherwise than the job does.
[[nodiscard]] BackendPointer mpi_backend(const Job& job, const GroupOptions& options);
// Whether it is to be had, and which or why not.
struct Usable {
  bool usable = false;
  std::string text;
};
[[nodiscard]] Usable mpi_usable();

[[nodiscard]] Usable nccl_usable();
// On the device with the number of the local rank.
[[nodiscard]] BackendPointer nccl_backend(const Job& job,
                                          const c10::intrusive_ptr<c10d::Store>& store,
                                          const GroupOptions& options);

}  // namespace muster
