#include "programs/bench/modules.hpp"

#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>

#include "mpi/runtime.hpp"
#include "programs/bench/words.hpp"

namespace muster::programs::bench {
namespace {

namespace fs = std::filesystem;

// The modules are in MUSTER_LIBDIR/muster of an installation, or in lib/muster of a build
// directory.
fs::path modules_folder() {
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  const fs::path installed = prefix / MUSTER_LIBDIR / "muster";
  return fs::exists(installed) ? installed : prefix / "lib" / "muster";
}

template <class Function>
Function load_function(const std::string& module, const char* name, const std::string& advice) {
  const std::string file = modules_folder() / ("libmuster_bench_" + module + ".so");
  void* loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = loaded == nullptr ? nullptr : dlsym(loaded, name);
  if (function == nullptr)
    throw std::runtime_error("cannot load " + file + ": " + dlerror() + "; " + advice);
  return reinterpret_cast<Function>(function);
}

template <class Function>
Function of_torch(const char* name, const std::string& wanted_by) {
  return load_function<Function>(
      "torch", name,
      wanted_by +
          " needs, on every host, the PyTorch that muster was built with; --backend bare (for "
          "collectives and pairs) works without PyTorch");
}

// Returns the ABI of this process's MPI library. Only the first call searches for the library.
std::string mpi_abi() {
  mpi::look_for_plugins_in(modules_folder());
  static const std::string abi = mpi::loaded_library().abi;
  if (!abi.empty()) return abi;
  throw std::runtime_error(
      "muster-bench found no MPI library that it can use; start it with mpirun or srun, or set "
      "MUSTER_MPI_LIBRARY=/path/to/libmpi.so. It tried:" +
      mpi::loaded_library().tried);
}

MakeFabric of_bare() {
  return load_function<MakeFabric>(
      "bare_" + mpi_abi(), kMakeFabric,
      "build muster with support for this MPI (-DMUSTER_OPENMPI=, -DMUSTER_MPICH=)");
}

}  // namespace

std::string missing_here(const std::string& backend, const World& world) try {
  const bool over_mpi = backend == "bare" || backend == "mpi";
  if (over_mpi && world.size > 1 && !world.mpi)
    return "no MPI launcher started the ranks, so MPI could not find the other ranks; start "
           "muster-bench with mpirun or srun";
  if (backend == "bare") {
    static_cast<void>(of_bare());
    return "";
  }
  const FabricRequest request{.backend = backend, .world = world};
  std::string why = of_torch<FindMissing>(kFindMissing, backend)(request);
  // Load PyTorch's module before MPI, as without --optional.
  if (over_mpi) static_cast<void>(mpi_abi());
  return why;
} catch (const std::exception& error) {
  return one_line(error.what());
}

std::unique_ptr<Fabric> make_fabric(const std::string& backend, const World& world, int wait_s) {
  const FabricRequest request{.backend = backend, .world = world, .wait_s = wait_s};
  const MakeFabric make =
      backend == "bare" ? of_bare() : of_torch<MakeFabric>(kMakeFabric, backend);
  return std::unique_ptr<Fabric>(make(request));
}

void begin_mpi_without_torch() {
  static_cast<void>(mpi_abi());
  static_cast<void>(mpi::process_progress());
}

Training train(const TrainingRequest& request, const TellProgress& tell) {
  return of_torch<Train>(kTrain, "ddp")(request, tell);
}

}  // namespace muster::programs::bench
