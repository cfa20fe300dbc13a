// A file a backend; `Job::group` puts them together.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/job.hpp"
#include "torch/store.hpp"

namespace muster {

using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// On the network of the job. Throws what is wrong with this host's, before ranks wait for each
// other.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend::Options> gloo_options(const Job& job,
                                                                      const GroupOptions& options);
// Connected; `gloo` is what gloo_options gave, `store` is the group's own. Throws MembershipError
// if strangers take part.
[[nodiscard]] BackendPointer gloo_backend(const Job& job, const GroupStore& store,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& gloo);

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
