// One function per backend; each has its own file. `Job::group` uses them to make a group.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "muster/job.hpp"
#include "torch/store.hpp"

namespace muster {

using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// Chooses the job's network. Throws if this host's network settings are wrong, before ranks start
// to wait for each other.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend::Options> gloo_options(const Job& job,
                                                                      const GroupOptions& options);
// Returns a connected backend. `gloo` comes from gloo_options, `store` belongs to this group.
// Throws MembershipError if processes outside the job take part.
[[nodiscard]] BackendPointer gloo_backend(const Job& job, const GroupStore& store,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& gloo);

// Throws if MPI's rank number of this process differs from the job's.
[[nodiscard]] BackendPointer mpi_backend(const Job& job, const GroupOptions& options);
// Whether a backend can be used, and which version or why not.
struct Usable {
  bool usable = false;
  std::string text;
};
[[nodiscard]] Usable mpi_usable();

[[nodiscard]] Usable nccl_usable();
// Uses the device whose number is the local rank.
[[nodiscard]] BackendPointer nccl_backend(const Job& job,
                                          const c10::intrusive_ptr<c10d::Store>& store,
                                          const GroupOptions& options);

}  // namespace muster
