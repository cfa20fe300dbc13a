#include "torch/group.hpp"

#include <atomic>
#include <stdexcept>

#include "torch/store.hpp"

namespace muster {
namespace {

using c10d::ProcessGroup;

// Every rank creates its groups in the same order, so all ranks use the same number.
std::string next_name() {
  static std::atomic<int> made = 0;
  return "muster/" + std::to_string(made++);
}

void set_backend(ProcessGroup& group, c10::DeviceType device, ProcessGroup::BackendType type,
                 const BackendPointer& backend) {
  group.setBackend(device, type, backend);
  group.setDefaultBackend(type);
}

void add_backends(ProcessGroup& group, const std::string& backend, const Job& job,
                  const GroupStore& store, const c10::intrusive_ptr<c10d::Backend::Options>& gloo,
                  const GroupOptions& options) {
  using Type = ProcessGroup::BackendType;
  if (backend == "mpi") {
    const BackendPointer mpi = mpi_backend(job, options);
    set_backend(group, c10::DeviceType::CUDA, Type::MPI, mpi);
    set_backend(group, c10::DeviceType::CPU, Type::MPI, mpi);
    return;
  }
  // NCCL comes first, because it fails at once if there is no device. It connects only on first
  // use.
  const bool with_nccl = backend == "nccl";
  const BackendPointer nccl = with_nccl ? nccl_backend(job, store.open, options) : BackendPointer();
  set_backend(group, c10::DeviceType::CPU, Type::GLOO, gloo_backend(job, store, gloo));
  if (!with_nccl) return;
  // setBackend passes the group's device on to the backend.
  group.setBoundDeviceId(nccl->getBoundDeviceId());
  set_backend(group, c10::DeviceType::CUDA, Type::NCCL, nccl);
}

}  // namespace

GroupChoice Job::group_choice(const std::string& backend) const {
  if (backend == "gloo" || backend == "mpi" || backend == "nccl") return {backend, "asked for"};
  if (backend != "auto") {
    throw std::invalid_argument("there is no backend '" + backend +
                                "'\n  hint: \"auto\", \"gloo\", \"mpi\" or \"nccl\"");
  }
  const Usable nccl = nccl_usable();
  if (nccl.usable) return {"nccl", nccl.text};
  if (!mpi_launcher) {
    return {"gloo", told_by.empty() ? "no launcher" : told_by + " does not start MPI programs"};
  }
  const Usable mpi = mpi_usable();
  if (mpi.usable) return {"mpi", "started by an MPI launcher; " + mpi.text};
  return {"gloo", "started by an MPI launcher, but " + mpi.text};
}

c10::intrusive_ptr<ProcessGroup> Job::group(const std::string& backend,
                                            const GroupOptions& options) const {
  const GroupChoice choice = group_choice(backend);
  const std::string name = next_name();
  // MPI needs no store, but c10d requires one.
  const bool meets = choice.backend != "mpi";
  const auto gloo =
      meets ? gloo_options(*this, options) : c10::intrusive_ptr<c10d::Backend::Options>();
  const auto store = store_of(meets ? *this : Job{}, name, options.timeout);
  auto group = c10::make_intrusive<ProcessGroup>(store.open, rank, size);
  add_backends(*group, choice.backend, *this, store, gloo, options);
  group->setGroupName(name);
  return group;
}

}  // namespace muster
