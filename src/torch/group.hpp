// The backends of a process group, each implemented in its own file. `Job::group` combines them.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/job.hpp"
#include "torch/store.hpp"

namespace muster {

using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// Chooses the interfaces or the address that Gloo uses on this host. Throws if this host's network
// settings are wrong; call it before ranks start to wait for each other.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend::Options> gloo_options(const Job& job,
                                                                      const GroupOptions& options);
// Returns a connected backend. `gloo` must come from gloo_options, and `store` must be this group's
// own. Throws MembershipError if processes outside the job take part.
[[nodiscard]] BackendPointer gloo_backend(const Job& job, const GroupStore& store,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& gloo);

// Throws if the rank or the world size that MPI reports differs from the job's.
[[nodiscard]] BackendPointer mpi_backend(const Job& job, const GroupOptions& options);
// Whether a backend can be used.
struct Usable {
  bool usable = false;
  // What was found, such as the version, or why it cannot be used; in one line.
  std::string text;
};
[[nodiscard]] Usable mpi_usable();

[[nodiscard]] Usable nccl_usable();
// Uses the CUDA device whose number is the local rank, or device 0 if the process sees only one.
[[nodiscard]] BackendPointer nccl_backend(const Job& job,
                                          const c10::intrusive_ptr<c10d::Store>& store,
                                          const GroupOptions& options);

}  // namespace muster
